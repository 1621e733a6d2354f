package compress

import "bytes"

// Accept holds the Accept-Encoding fields of a request (RFC 9110 section 12.5.3). The zero
// value is a request without the field; it permits every coding, but none is used.
type Accept struct {
	weights [numCodings]weight // of identity at None
	any     weight             // of "*"
}

// weight is a q-value in thousandths plus one; 0 means absent.
type weight uint16

// Add parses one field value. Malformed elements are not accepted. A repeated coding has the
// lower weight.
func (a *Accept) Add(v []byte) {
	for len(v) > 0 {
		element := v
		if i := bytes.IndexByte(v, ','); i >= 0 {
			element, v = v[:i], v[i+1:]
		} else {
			v = nil
		}
		name, params := element, []byte(nil)
		if i := bytes.IndexByte(element, ';'); i >= 0 {
			name, params = element[:i], element[i:]
		}
		w := parseWeight(params)
		switch name = trim(name); {
		case len(name) == 1 && name[0] == '*':
			a.any = lower(a.any, w)
		case Is(name, "identity"):
			a.weights[None] = lower(a.weights[None], w)
		case Is(name, "gzip"), Is(name, "x-gzip"):
			a.weights[Gzip] = lower(a.weights[Gzip], w)
		case Is(name, "zstd"):
			a.weights[Zstd] = lower(a.weights[Zstd], w)
		case Is(name, "br"):
			a.weights[Brotli] = lower(a.weights[Brotli], w)
		}
	}
}

// Choose returns the coding to use: the first of those in offered, in order of preference,
// that the client weighs highest. It returns None if the client accepts none of them or
// prefers identity.
func (a *Accept) Choose(offered []Coding) Coding {
	best, at := None, max(a.weights[None], 2)-1 // minimum weight to exceed
	for _, c := range offered {
		w := a.weights[c]
		if w == 0 {
			w = a.any
		}
		if w > at {
			best, at = c, w
		}
	}
	return best
}

func lower(known, w weight) weight {
	if known == 0 {
		return w
	}
	return min(known, w)
}

// parseWeight parses the text after a coding's name: empty, or its weight.
//
//	weight = OWS ";" OWS "q=" ( "0" [ "." 0*3DIGIT ] / "1" [ "." 0*3("0") ] )
func parseWeight(p []byte) weight {
	const most, none = weight(1001), weight(1)
	if p = trim(p); len(p) == 0 {
		return most
	}
	p = trim(p[1:]) // after the semicolon
	if len(p) < 3 || p[0]|0x20 != 'q' || p[1] != '=' || len(p) > 7 || len(p) > 3 && p[3] != '.' {
		return none
	}
	w, unit := weight(0), weight(100)
	for i, c := range p[2:] {
		switch {
		case i == 1:
		case c < '0' || c > '9' || i == 0 && c > '1':
			return none
		case i == 0:
			w = weight(c-'0') * 1000
		default:
			w += weight(c-'0') * unit
			unit /= 10
		}
	}
	if w > 1000 {
		return none
	}
	return w + 1
}

func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// Is compares a field name, or a word in a value, with a lower-case one.
func Is(b []byte, name string) bool {
	if len(b) != len(name) {
		return false
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != name[i] {
			return false
		}
	}
	return true
}
