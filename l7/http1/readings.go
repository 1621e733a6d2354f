package http1

import "bytes"

// Reading is an interpretation of a path by a backend: decoded, without parameters, with
// backslashes as slashes. Protective rules are applied to every reading, so that no spelling
// of a path bypasses them.
type Reading struct {
	Target []byte // decoded path, with the query as the client sent it
	Path   int    // length of the path in Target
	// Climbs means that the path has a ".." that leaves a segment and is not in the
	// canonical path.
	Climbs bool
	// Dots means that dot segments were kept.
	Dots bool
}

// Backends differ in two ways. Some remove parameters before they decode escapes once
// (servlet containers); others are behind a proxy that has decoded the path. And some merge
// slashes before they remove dot segments, others after: "/a//../b" is "/b" or "/a/b". Each
// combination that differs is a reading.
const (
	readFully     = 1 << iota // decode repeatedly, then drop parameters
	readDotsFirst             // remove dot segments before slashes are merged
	// keep dot segments: some backends select by the beginning of the path as sent, and treat
	// "/admin/../x" as part of "/admin"
	readDots

	numReadings = readDots + readFully + 1
)

// read adds the readings of a path, given its canonical form with ups removed ".." segments.
// It refuses paths that would be dangerous for some backend.
func (r *Request) read(path, canonical, query []byte, ups int) error {
	if bytes.IndexByte(path, '%') < 0 && bytes.IndexByte(canonical, '%') < 0 && bytes.IndexByte(path, ';') < 0 &&
		!bytes.Contains(path, doubleSlash) && !bytes.Contains(path, dotSegment) {
		return nil
	}
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
		r.Readings = append(r.Readings, Reading{Target: r.space[from:len(r.space):len(r.space)], Path: len(p), Climbs: up > ups, Dots: how&readDots != 0})
	}
	return nil
}

var doubleSlash, dotSegment = []byte("//"), []byte("/.")

// appendReading appends a reading of a path to r.space. It returns the number of its ".."
// segments.
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
	if how&readDots != 0 {
		return p, 0, nil
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

// appendDecoded appends a path with well-formed escapes, without its parameters and with
// each escape decoded once.
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

// appendDecodedFully appends a path and decodes escapes, including those produced by
// decoding, in one pass.
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

// checkDecoded refuses bytes that end a string or a line, and overlong UTF-8.
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

// dropParams removes the parameters after ';' in each segment of p, in place.
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

// mergeSlashes merges consecutive slashes, in place.
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
