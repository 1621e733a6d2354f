package rdata

import (
	"strconv"
	"strings"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/core/farm"
)

// forms convert data to the form that miekg/dns parses if BIND accepts or prints a
// different one. They return false for data that the library would misinterpret.
var forms = map[farm.RecordType]func(text string) (string, bool){
	"NAPTR": func(text string) (string, bool) { return quotedNAPTR(text), true },
	"LOC":   wholeLOC,
	"DS":    digestByNumber,
	"DLV":   digestByNumber,
	"NID":   fourDigits,
	"L64":   fourDigits,
	"L32": func(text string) (string, bool) {
		return text, !strings.Contains(text, ":")
	},
	"HINFO": func(text string) (string, bool) { return text, len(words(text)) == 2 },
	"ISDN":  func(text string) (string, bool) { return text, len(words(text)) <= 2 },
}

// quotedNAPTR adds quotes to the texts of a NAPTR record, which BIND does not require.
func quotedNAPTR(text string) string {
	list := words(text)
	if len(list) != 6 {
		return text
	}
	for i := 2; i < 5; i++ {
		if !strings.HasPrefix(list[i], `"`) {
			list[i] = `"` + list[i] + `"`
		}
	}
	return strings.Join(list, " ")
}

// wholeLOC adds omitted minutes and seconds to a LOC record (RFC 1876 §3). The library
// requires either all or none.
func wholeLOC(text string) (string, bool) {
	list := words(text)
	latitude, rest, ok := wholeAngle(list, "N", "S")
	if !ok {
		return text, false
	}
	longitude, rest, ok := wholeAngle(rest, "E", "W")
	if !ok || len(rest) == 0 || len(rest) > 4 {
		return text, false
	}
	// Altitude is stored in 32 bits, in centimetres above 100 km below the reference.
	if altitude, err := strconv.ParseFloat(strings.TrimSuffix(rest[0], "m"), 64); err != nil || !(altitude >= -100_000 && altitude < 42_849_672.955) {
		return text, false
	}
	return strings.Join(append(append(latitude, longitude...), rest...), " "), true
}

// wholeAngle cuts degrees, minutes, seconds and direction from words and returns the
// rest.
func wholeAngle(list []string, directions ...string) (angle, rest []string, ok bool) {
	for i, word := range list[:min(len(list), 4)] {
		if word != directions[0] && word != directions[1] {
			continue
		}
		angle = append(angle, list[:i]...)
		for len(angle) < 3 {
			angle = append(angle, "0")
		}
		_, fraction, _ := strings.Cut(angle[2], ".")
		return append(angle, word), list[i+1:], i > 0 && len(fraction) <= 3
	}
	return nil, nil, false
}

// digestByNumber replaces the name of a digest type by its number.
func digestByNumber(text string) (string, bool) {
	list := words(text)
	if len(list) < 4 {
		return text, false
	}
	for number, name := range dns.HashToString {
		if short := strings.ReplaceAll(name, "-", ""); strings.EqualFold(strings.ReplaceAll(list[2], "-", ""), short) {
			list[2] = string('0' + rune(number))
		}
	}
	return strings.Join(list, " "), true
}

// fourDigits pads each part of a locator to four digits.
func fourDigits(text string) (string, bool) {
	list := words(text)
	if len(list) != 2 {
		return text, false
	}
	parts := strings.Split(list[1], ":")
	for i, part := range parts {
		if part == "" || len(part) > 4 {
			return text, false
		}
		parts[i] = strings.Repeat("0", 4-len(part)) + part
	}
	return list[0] + " " + strings.Join(parts, ":"), true
}
