package http1

import (
	"bytes"

	"github.com/sluicelb/sluice/core/ascii"
)

// Hosts have one canonical form: a lower-case name of letters, digits, '-', '_' and single dots
// without a trailing dot, or an IPv6 address in brackets. A port follows if given, without
// leading zeros. Percent escapes, user parts, zones and other forms of RFC 3986 are refused,
// because real clients do not need them and parsers disagree about them.

// maxAuthority is the longest canonical authority.
const maxAuthority = MaxHost + len(":65535")

// Classes of bytes in host names.
const (
	hostPlain = 1 << iota
	hostUpper
	hostDot
)

var hostByte = func() (t [256]uint8) {
	for c := '0'; c <= '9'; c++ {
		t[c] = hostPlain
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-0x20] = hostPlain, hostUpper
	}
	t['-'], t['_'], t['.'] = hostPlain, hostPlain, hostDot
	return t
}()

// ValidHost reports whether b is an acceptable host with an optional port.
func ValidHost(b []byte) bool {
	var scratch [maxAuthority]byte
	_, ok := canonicalHost(b, &scratch)
	return ok
}

// canonicalHostSlow checks the port after the name v[:i], removes the trailing dot of the
// name, and converts it to lower case if necessary.
func canonicalHostSlow(v []byte, i int, upper bool, scratch *[maxAuthority]byte) ([]byte, bool) {
	port := v[i:]
	if len(port) > 0 && (port[0] != ':' || !isPort(port[1:])) {
		return nil, false
	}
	if len(port) == 1 {
		port = nil // an empty port is equivalent to none
	}
	name := v[:i]
	if name[i-1] == '.' {
		name = name[:i-1]
	} else if !upper {
		return v[:i+len(port)], true
	}
	h := scratch[:0]
	for _, c := range name {
		h = append(h, ascii.Lower(c))
	}
	return append(h, port...), true
}

// isPort reports whether p is empty or a number up to 65535 without leading zeros.
func isPort(p []byte) bool {
	n := 0
	for _, c := range p {
		if c < '0' || c > '9' {
			return false
		}
		n = n*10 + int(c-'0')
		if n > 65535 {
			return false
		}
	}
	return len(p) < 2 || p[0] != '0'
}

// literalEnd returns the index after the "]" of an IPv6 address in brackets, or 0 if it is
// malformed, and whether it has upper-case digits.
func literalEnd(v []byte) (end int, upper bool) {
	i := bytes.IndexByte(v[:min(len(v), len("[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]"))], ']')
	if i < 0 {
		return 0, false
	}
	a := v[1:i]
	groups, gap := 0, false
	for j := 0; j < len(a); {
		if a[j] == ':' { // between groups, or "::" once
			double := j+1 < len(a) && a[j+1] == ':'
			if double && gap || !double && (j == 0 || j+1 == len(a)) {
				return 0, false
			}
			j++
			if double {
				gap = true
				j++
			}
			if j < len(a) && a[j] == ':' {
				return 0, false
			}
			continue
		}
		k := j
		for k < len(a) && isHex(a[k]) {
			upper = upper || a[k] < 'a' && a[k] > '9'
			k++
		}
		if k < len(a) && a[k] == '.' {
			if !isIPv4(a[j:]) {
				return 0, false
			}
			groups += 2
			break
		}
		if k == j || k-j > 4 || k < len(a) && a[k] != ':' {
			return 0, false
		}
		groups++
		j = k
	}
	if groups > 8 || gap && groups == 8 || !gap && groups != 8 {
		return 0, false
	}
	return i + 1, upper
}

// isIPv4 reports whether a is four numbers up to 255 joined by dots.
func isIPv4(a []byte) bool {
	for part := 1; ; part++ {
		n, digits := 0, 0
		for digits < len(a) && a[digits] != '.' {
			c := a[digits] - '0'
			if c > 9 || digits == 3 || digits > 0 && a[0] == '0' {
				return false
			}
			n = n*10 + int(c)
			digits++
		}
		if digits == 0 || n > 255 {
			return false
		}
		if part == 4 {
			return digits == len(a)
		}
		if digits == len(a) {
			return false
		}
		a = a[digits+1:]
	}
}

func isHex(c byte) bool { return c-'0' < 10 || (c|0x20)-'a' < 6 }
