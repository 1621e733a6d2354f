package rdata

import (
	"bytes"
	"errors"
	"slices"
	"strings"
)

// ErrOutside means that a name is not in its zone.
var ErrOutside = errors.New("the name is not in the zone")

// Owner returns the canonical spelling of a record's owner name. It is relative to the
// zone, "@" for the zone itself, and has escapes only where characters need them. The case
// of letters may differ.
func Owner(text, zone string) (string, error) {
	if text == "@" || isPlain(text, zone) {
		return text, nil
	}
	name, err := Name(text, zone)
	if err != nil {
		return "", err
	}
	apex, err := Name("@", zone)
	if err != nil {
		return "", err
	}
	for at := 0; ; at += 1 + int(name[at]) {
		switch {
		case len(name)-at < len(apex):
			return "", ErrOutside
		case !bytes.Equal(name[at:], apex):
		case at == 0:
			return "@", nil
		default:
			return strings.TrimSuffix(NameText(append(slices.Clone(name[:at]), 0)), "."), nil
		}
	}
}

// isPlain reports whether a name is valid, relative to the zone and without characters that
// have several spellings. It is a fast path: most names are.
func isPlain(text, zone string) bool {
	const mostLabel = 63
	if text == "" || len(text)+len(zone)+3 > MaxName {
		return false
	}
	label := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 'A' && c <= 'Z', strings.IndexByte("-_*/", c) >= 0:
			if label++; label > mostLabel {
				return false
			}
		case c == '.' && label > 0:
			label = 0
		default:
			return false
		}
	}
	return label > 0
}
