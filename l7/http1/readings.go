package http1

import "bytes"

// Reading is a form in which a backend may read a path: decoded, without
// parameters, with backslashes as slashes. Rules that protect are asked about
// every reading, so that no spelling of a path gets past them.
type Reading struct {
	Target []byte // decoded path, with the query as the client sent it
	Path   int    // length of the path in Target
	// Climbs says that the path leaves a segment by a ".." that the canonical path
	// does not have.
	Climbs bool
}

// Backends differ in two ways. Some drop parameters before they decode escapes,
// once (servlet containers); others sit behind a proxy that has decoded the path
// before. And some merge slashes before they remove dot segments, others after:
// "/a//../b" is "/b" or "/a/b". Each combination is a reading, if it differs.
const (
	readFully     = 1 << iota // decode until nothing is left to decode, then drop parameters
	readDotsFirst             // remove dot segments before slashes are merged
	numReadings
)

// read finds the readings of a path as the client sent it, whose canonical form
// is given and had ups segments "..". It refuses a path that no backend may read.
func (r *Request) read(path, canonical, query []byte, ups int) error {
	if bytes.IndexByte(path, '%') < 0 && bytes.IndexByte(canonical, '%') < 0 && bytes.IndexByte(path, ';') < 0 && !bytes.Contains(path, doubleSlash) {
		return nil
	}
	r.space = r.space[:0]
	for how := range numReadings {
		from := len(r.space)
		p, up, err := r.appendReading(path, how)
		if err != nil {
			return err
		}
		if r.space = r.space[:from]; r.known(p, canonical) {
			continue
		}
		r.space = append(r.space[:from+len(p)], query...)
		r.Readings = append(r.Readings, Reading{Target: r.space[from:len(r.space):len(r.space)], Path: len(p), Climbs: up > ups})
	}
	return nil
}

var doubleSlash = []byte("//")

// appendReading writes a reading of a path behind those in r.space. It returns
// how many segments ".." it had.
func (r *Request) appendReading(path []byte, how int) (p []byte, ups int, err error) {
	from := len(r.space)
	if how&readFully != 0 {
		r.space = appendDecodedFully(r.space, path)
	} else {
		r.space = appendDecoded(r.space, path)
	}
	p = r.space[from:]
	if err := checkDecoded(p); err != nil {
		return nil, 0, err
	}
	if how&readFully != 0 {
		p = dropParams(p)
	}
	for i, c := range p {
		if c == '\\' {
			p[i] = '/'
		}
	}
	if how&readDotsFirst == 0 {
		p = mergeSlashes(p)
	}
	n, ups, err := removeDots(p)
	if err != nil {
		return nil, 0, err
	}
	return mergeSlashes(p[:n]), ups, nil
}

// known reports whether p is the canonical path or one of the readings.
func (r *Request) known(p, canonical []byte) bool {
	for i := range r.Readings {
		if other := &r.Readings[i]; bytes.Equal(p, other.Target[:other.Path]) {
			return true
		}
	}
	return bytes.Equal(p, canonical)
}

// appendDecoded appends a path whose escapes are well-formed without its
// parameters, and decodes each escape.
func appendDecoded(dst, path []byte) []byte {
	for i := 0; i < len(path); i++ {
		switch c := path[i]; c {
		case ';':
			n := bytes.IndexByte(path[i:], '/')
			if n < 0 {
				return dst
			}
			i += n - 1
		case '%':
			dst = append(dst, unhex(path[i+1])<<4|unhex(path[i+2]))
			i += 2
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// appendDecodedFully appends a path and decodes escapes, and the escapes that
// come of that, in one pass.
func appendDecodedFully(dst, path []byte) []byte {
	from := len(dst)
	for _, c := range path {
		dst = append(dst, c)
		for n := len(dst); n-from >= 3 && dst[n-3] == '%' && isHex(dst[n-2]) && isHex(dst[n-1]); n = len(dst) {
			dst = append(dst[:n-3], unhex(dst[n-2])<<4|unhex(dst[n-1]))
		}
	}
	return dst
}

// checkDecoded refuses bytes that end a text or a line, and overlong UTF-8.
func checkDecoded(p []byte) error {
	for i, c := range p {
		switch {
		case endsText(c):
			return ErrTargetControl
		case c >= 0xc0 && i+1 < len(p) && overlong(c, p[i+1]):
			return ErrTargetUTF8
		}
	}
	return nil
}

// dropParams removes what follows a ';' in each segment of p, in place.
func dropParams(p []byte) []byte {
	w, param := 0, false
	for _, c := range p {
		switch c {
		case ';':
			param = true
		case '/', '\\':
			param = false
		}
		if !param {
			p[w] = c
			w++
		}
	}
	return p[:w]
}

// mergeSlashes makes one of several slashes in a row, in place.
func mergeSlashes(p []byte) []byte {
	w := 0
	for _, c := range p {
		if c == '/' && w > 0 && p[w-1] == '/' {
			continue
		}
		p[w] = c
		w++
	}
	return p[:w]
}
