package accesslog

import (
	"bytes"

	"github.com/sluicelb/sluice/core/ascii"
)

// mask is shown in place of a secret value.
const mask = "***"

// maxName is the longest name that is compared. Longer names are not in the list.
const maxName = 128

// redaction masks the values of headers and parameters by their names.
type redaction struct {
	names map[string]bool // in lower case
	// first has, for names of each length, a bit for each first letter. It quickly excludes
	// most parameters, which are not in the list.
	first [maxName + 1]uint32
	name  []byte // space for a name
	out   []byte // space for a text
}

func newRedaction(names []string) *redaction {
	r := &redaction{names: make(map[string]bool, len(names)), name: make([]byte, 0, maxName)}
	for _, name := range names {
		if n := len(name); n > 0 && n <= maxName {
			r.names[string(ascii.AppendLower(nil, []byte(name)))] = true
			r.first[n] |= letterBit(name[0])
		}
	}
	return r
}

// letterBit returns the bit of a letter, independently of its case. Other bytes share the
// bits of letters.
func letterBit(c byte) uint32 { return 1 << (c & 31) }

// has reports whether the value of that header is masked.
func (r *redaction) has(name []byte) bool {
	return len(name) <= maxName && r.names[string(ascii.AppendLower(r.name[:0], name))]
}

// target masks the parameters in the query of a path, and those in its segments
// (;name=value). The result is b itself, or valid until the next call.
func (r *redaction) target(b []byte) []byte {
	if bytes.IndexByte(b, '=') < 0 {
		return b
	}
	return r.parameters(b)
}

// url is target for a whole URL. It also masks user and password.
func (r *redaction) url(b []byte) []byte {
	at := bytes.IndexByte(b, '@')
	if at < 0 {
		return r.target(b)
	}
	start := bytes.Index(b, []byte("//")) + 2
	end := len(b)
	if start >= 2 {
		if i := bytes.IndexAny(b[start:], "/?#"); i >= 0 {
			end = start + i
		}
		if at = bytes.LastIndexByte(b[start:end], '@'); at >= 0 {
			clean := append(append(append(make([]byte, 0, len(b)+len(mask)), b[:start]...), mask...), b[start+at:]...)
			return r.target(clean)
		}
	}
	return r.target(b)
}

// parameters masks the value after "name=" if name follows one of "?&;" and is in the list.
func (r *redaction) parameters(b []byte) []byte {
	out := r.out[:0]
	kept, query := 0, false
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '?':
			query = true
		case '&', ';':
		default:
			continue
		}
		eq := i + 1
		for eq < len(b) && b[eq] != '=' && !endsParameter(b[eq], query) {
			eq++
		}
		if eq == len(b) || b[eq] != '=' || !r.hides(b[i+1:eq]) {
			continue
		}
		end := eq + 1
		for end < len(b) && !endsParameter(b[end], query) {
			end++
		}
		out = append(append(out, b[kept:eq+1]...), mask...)
		kept = end
		i = end - 1
	}
	if kept == 0 {
		return b
	}
	r.out = append(out, b[kept:]...)
	return r.out
}

// endsParameter reports whether a parameter ends before c. In the path it ends with its
// segment.
func endsParameter(c byte, query bool) bool {
	return c == '&' || c == ';' || c == '#' || !query && (c == '/' || c == '?')
}

// hides reports whether a parameter's name is in the list. It tries the raw name, the decoded
// one, and the outer and inner parts of user[password].
func (r *redaction) hides(name []byte) bool {
	name = name[:min(len(name), maxName)]
	if bytes.IndexByte(name, '%') < 0 && bytes.IndexByte(name, '[') < 0 {
		return len(name) > 0 && r.first[len(name)]&letterBit(name[0]) != 0 &&
			r.names[string(ascii.AppendLower(r.name[:0], name))]
	}
	name = ascii.AppendLower(r.name[:0], decoded(name, r.name[:0]))
	if r.names[string(name)] {
		return true
	}
	for len(name) > 0 {
		part, rest, bracket := bytes.Cut(name, []byte("["))
		if part = bytes.TrimSuffix(part, []byte("]")); r.names[string(part)] {
			return true
		}
		if !bracket {
			return false
		}
		name = rest
	}
	return false
}

// decoded returns a name with its percent encoding decoded.
func decoded(name, space []byte) []byte {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c == '%' && i+2 < len(name) {
			if hi, lo := digit(name[i+1]), digit(name[i+2]); hi|lo < 16 {
				c = hi<<4 | lo
				i += 2
			}
		}
		space = append(space, c)
	}
	return space
}

// digit returns the value of a hexadecimal digit, 255 for any other byte.
func digit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 255
}
