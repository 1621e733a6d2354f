package validate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// Limits of compression.
const (
	// MaxCompressionMin is the maximum of compression_min in bytes: 16 MiB.
	MaxCompressionMin = 16 << 20
	// MaxCompressionTypes bounds the number of media types.
	MaxCompressionTypes = 64
)

// mediaTypePattern matches a media type, or all subtypes of a type (RFC 6838 §4.2).
var mediaTypePattern = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9!#$&^_.+-]*/(\*|[a-zA-Z0-9][a-zA-Z0-9!#$&^_.+-]*)$`)

// coded is the condition of fields that refine compression.
var coded = &only{fields: []string{"compression"}, while: "compression names an encoding"}

// compressionFields are the fields for compressing responses.
var compressionFields = []field[farm.Service]{
	{
		rule: rule{name: "compression", hints: basic(atCompression, "Encodings"), kind: kindList, words: true, null: true, max: int64(len(farm.Codings())), values: texts(farm.Codings()), check: checkCoding,
			about: "Content encodings for compressing responses, in order of preference, if the client accepts them; none disables compression."},
		get: func(s *farm.Service) Value { return listValue(texts(compressionOf(s).Codings)) },
		set: setCompression,
	},
	{
		rule: rule{name: "compression_min", hints: advanced(atCompression, "Min. body size").in(inBytes), kind: kindNumber, min: 1, max: MaxCompressionMin, null: true, unset: numberValue(int64(farm.DefaultCompressionMin)),
			only: coded, about: "Minimum body size for compression, in bytes, if the length is known."},
		get: func(s *farm.Service) Value {
			return numberValue(int64(cmp.Or(compressionOf(s).Min, farm.DefaultCompressionMin)))
		},
		set: func(s *farm.Service, v Value) {
			s.Compression.Min = orZero(uint32(v.number), farm.DefaultCompressionMin)
		},
	},
	{
		rule: rule{name: "compression_types", hints: advanced(atCompression, "Media types"), kind: kindList, words: true, null: true, max: MaxCompressionTypes, maxLen: 128, pattern: mediaTypePattern, canon: strings.ToLower, same: strings.ToLower,
			unset: listValue(farm.DefaultCompressionTypes()), must: "a media type, or type/*", format: "type/subtype or type/*",
			musts: fmt.Sprintf("a list of at most %d media types, where type/* stands for all of a type", MaxCompressionTypes),
			only:  coded, about: "Media types to compress; none means the default list: " + strings.Join(farm.DefaultCompressionTypes(), ", ") + "."},
		get: func(s *farm.Service) Value {
			if t := compressionOf(s).Types; len(t) > 0 {
				return listValue(t)
			}
			return listValue(farm.DefaultCompressionTypes())
		},
		set: func(s *farm.Service, v Value) {
			c := s.Compression
			if c.Types = slices.Clone(v.list); len(v.list) == 0 || slices.Equal(v.list, farm.DefaultCompressionTypes()) {
				c.Types = nil
			}
		},
	},
	{
		rule: rule{name: "compression_level", hints: advanced(atCompression, "Level"), kind: kindText, values: texts(farm.CompressionLevels()), null: true, unset: textValue(string(farm.CompressionDefault)),
			only: coded, about: "Trade-off between compression speed and ratio."},
		get: func(s *farm.Service) Value {
			return textValue(string(cmp.Or(compressionOf(s).Level, farm.CompressionDefault)))
		},
		set: func(s *farm.Service, v Value) {
			s.Compression.Level = orZero(farm.CompressionLevel(v.text), farm.CompressionDefault)
		},
	},
}

func setCompression(s *farm.Service, v Value) {
	if len(v.list) == 0 {
		s.Compression = nil
		return
	}
	if s.Compression == nil {
		s.Compression = &farm.Compression{}
	}
	s.Compression.Codings = nil
	for _, name := range v.list {
		s.Compression.Codings = append(s.Compression.Codings, farm.Coding(name))
	}
}

// compressionOf returns the settings to read; without compression, the initial ones.
func compressionOf(s *farm.Service) *farm.Compression {
	return cmp.Or(s.Compression, &farm.Compression{})
}

func checkCoding(s string) string {
	if slices.Contains(farm.Codings(), farm.Coding(s)) {
		return ""
	}
	return "there is no such coding"
}
