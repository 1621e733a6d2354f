package httpfarm

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
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
var coded = &field.Condition{On: []string{"compression"}, While: "compression names an encoding"}

// compressionFields are the fields for compressing responses.
var compressionFields = []field.Field[farm.Service]{
	{
		Rule: field.Rule{Name: "compression", Hints: field.Basic(field.AtCompression, "Encodings"), Kind: field.List, Words: true, Null: true, Max: int64(len(farm.Codings())), Values: field.Texts(farm.Codings()), Check: checkCoding,
			About: "Content encodings for compressing responses, in order of preference, if the client accepts them; none disables compression."},
		Get: func(s *farm.Service) field.Value { return field.ListValue(field.Texts(compressionOf(s).Codings)) },
		Set: setCompression,
	},
	{
		Rule: field.Rule{Name: "compression_min", Hints: field.Advanced(field.AtCompression, "Min. body size").In(field.Bytes), Kind: field.Number, Min: 1, Max: MaxCompressionMin, Null: true, Unset: field.NumberValue(int64(farm.DefaultCompressionMin)),
			Only: coded, About: "Minimum body size for compression, in bytes, if the length is known."},
		Get: func(s *farm.Service) field.Value {
			return field.NumberValue(int64(cmp.Or(compressionOf(s).Min, farm.DefaultCompressionMin)))
		},
		Set: func(s *farm.Service, v field.Value) {
			s.Compression.Min = field.OrZero(uint32(v.Number()), farm.DefaultCompressionMin)
		},
	},
	{
		Rule: field.Rule{Name: "compression_types", Hints: field.Advanced(field.AtCompression, "Media types"), Kind: field.List, Words: true, Null: true, Max: MaxCompressionTypes, MaxLen: 128, Pattern: mediaTypePattern, Canon: strings.ToLower, Key: strings.ToLower,
			Unset: field.ListValue(farm.DefaultCompressionTypes()), Must: "a media type, or type/*", Format: "type/subtype or type/*",
			MustList: fmt.Sprintf("a list of at most %d media types, where type/* stands for all of a type", MaxCompressionTypes),
			Only:     coded, About: "Media types to compress; none means the default list: " + strings.Join(farm.DefaultCompressionTypes(), ", ") + "."},
		Get: func(s *farm.Service) field.Value {
			if t := compressionOf(s).Types; len(t) > 0 {
				return field.ListValue(t)
			}
			return field.ListValue(farm.DefaultCompressionTypes())
		},
		Set: func(s *farm.Service, v field.Value) {
			c := s.Compression
			if c.Types = slices.Clone(v.List()); len(v.List()) == 0 || slices.Equal(v.List(), farm.DefaultCompressionTypes()) {
				c.Types = nil
			}
		},
	},
	{
		Rule: field.Rule{Name: "compression_level", Hints: field.Advanced(field.AtCompression, "Level"), Kind: field.Text, Values: field.Texts(farm.CompressionLevels()), Null: true, Unset: field.TextValue(string(farm.CompressionDefault)),
			Only: coded, About: "Trade-off between compression speed and ratio."},
		Get: func(s *farm.Service) field.Value {
			return field.TextValue(string(cmp.Or(compressionOf(s).Level, farm.CompressionDefault)))
		},
		Set: func(s *farm.Service, v field.Value) {
			s.Compression.Level = field.OrZero(farm.CompressionLevel(v.Text()), farm.CompressionDefault)
		},
	},
}

func setCompression(s *farm.Service, v field.Value) {
	if len(v.List()) == 0 {
		s.Compression = nil
		return
	}
	if s.Compression == nil {
		s.Compression = &farm.Compression{}
	}
	s.Compression.Codings = nil
	for _, name := range v.List() {
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
