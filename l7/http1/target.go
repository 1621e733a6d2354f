package http1

import (
	"bytes"
	"unicode/utf8"
)

// Paths have one canonical form, which decides the route and is what the
// backend gets, so that no backend can read another path than we did:
//
//	"//"                     -> "/"
//	dot segments             removed (RFC 3986 section 5.2.4)
//	escaped unreserved bytes unescaped, %41 -> A, %2e -> '.'
//	other escapes            in upper case, %c3 -> %C3, those of control bytes too
//	raw UTF-8                escaped
//
// Refused because parsers differ: raw control bytes, SP, '#' and '\';
// malformed escapes; escapes of NUL, '/' and '\'; %25 before two hex
// digits; invalid raw UTF-8; overlong UTF-8, raw or escaped; paths that climb
// above the root; dot segments with parameters ("..;x"). The characters
// "<>^`{|} and '"', which RFC 3986 does not allow but clients send, are kept.
// Escaped bytes that are no UTF-8 but not overlong either (Latin-1) are kept.
//
// Queries are not touched: raw control bytes, SP and '#' are refused, every
// other byte means itself.

// canonical sets r.Path from a target that is not simple.
func (r *Request) canonical() error {
	t := r.Target.Of(r.Buf)
	if t[0] != '/' {
		if len(t) == 1 && t[0] == '*' && r.Verb == VerbOPTIONS {
			r.Path = t
			return nil
		}
		rest, err := r.absolute(t)
		if err != nil {
			return err
		}
		if len(rest) == 0 && r.Verb == VerbOPTIONS {
			r.Path = append(r.path[:0], '*') // RFC 9112 section 3.2.4
			return nil
		}
		t = rest
	}
	return r.canonicalise(t)
}

// canonicalise sets r.Path from a path and query.
func (r *Request) canonicalise(t []byte) error {
	path, query := t, []byte(nil)
	if i := bytes.IndexByte(t, '?'); i >= 0 {
		path, query = t[:i], t[i:]
	}
	n, err := canonicalPath(&r.path, path)
	if err != nil {
		return err
	}
	if n+len(query) > len(r.path) {
		return ErrTargetTooLong
	}
	n += copy(r.path[n:], query)
	r.Path = r.path[:n]
	return nil
}

// Retarget gives the request another path and query, which is read as that of a
// client: what is ambiguous is refused, and Path is its canonical form. t is
// borrowed as long as Path is used. The error is an *Error; the request is of no
// use after it.
func (r *Request) Retarget(t []byte) error {
	switch {
	case len(t) > MaxTarget:
		return ErrTargetTooLong
	case len(t) == 0 || t[0] != '/':
		return ErrTarget
	}
	end, simple := targetEnd(t, 0)
	if end < len(t) {
		return ErrTargetByte
	}
	r.simple = false // the request line is not what it was
	if simple {
		r.Path = t
		return nil
	}
	return r.canonicalise(t)
}

// absolute checks "http://authority" at the start of t and gives what follows.
// The authority must be the Host; without one, on HTTP/1.0, it is the Host.
func (r *Request) absolute(t []byte) (rest []byte, err error) {
	switch {
	case len(t) > 7 && foldIsText(t[:7], "http://"):
		t = t[7:]
	case len(t) > 8 && foldIsText(t[:8], "https://"):
		t = t[8:]
	default:
		return nil, ErrTarget
	}
	i := bytes.IndexAny(t, "/?")
	if i < 0 {
		i = len(t)
	}
	h, ok := canonicalHost(t[:i], &r.other)
	switch {
	case !ok:
		return nil, ErrTarget
	case len(r.Host) == 0:
		r.Host = h
	case !bytes.Equal(h, r.Host):
		return nil, ErrTargetHost
	}
	return t[i:], nil
}

// canonicalPath writes the canonical form of path, which ends before a query,
// to dst and gives its length. An empty path is "/".
func canonicalPath(dst *[MaxTarget]byte, path []byte) (int, error) {
	n, err := normalise(dst, path)
	if err != nil {
		return 0, err
	}
	if n, err = removeDots(dst[:n]); err != nil {
		return 0, err
	}
	if err := checkEscapes(dst[:n]); err != nil {
		return 0, err
	}
	return n, nil
}

// normalise gives every byte of path its one spelling and merges slashes.
func normalise(dst *[MaxTarget]byte, path []byte) (int, error) {
	dst[0] = '/'
	n := 1
	for i := 0; i < len(path); {
		if n+3 > len(dst) {
			return 0, ErrTargetTooLong
		}
		c := path[i]
		switch {
		case c == '/':
			if dst[n-1] != '/' {
				dst[n] = c
				n++
			}
			i++
		case c == '%':
			if i+2 >= len(path) || !isHex(path[i+1]) || !isHex(path[i+2]) {
				return 0, ErrTargetEscape
			}
			v := unhex(path[i+1])<<4 | unhex(path[i+2])
			if v == 0 || v == '/' || v == '\\' {
				return 0, ErrTargetHidden
			}
			if unreserved(v) {
				dst[n] = v
				n++
			} else {
				n += escape(dst[n:], v)
			}
			i += 3
		case c >= 0x80:
			r, size := utf8.DecodeRune(path[i:])
			if r == utf8.RuneError && size <= 1 {
				return 0, ErrTargetUTF8
			}
			if n+3*size > len(dst) {
				return 0, ErrTargetTooLong
			}
			for _, c := range path[i : i+size] {
				n += escape(dst[n:], c)
			}
			i += size
		default:
			dst[n] = c
			n++
			i++
		}
	}
	return n, nil
}

// removeDots takes "." and ".." segments out of p in place. p starts with a
// slash and has no two in a row.
func removeDots(p []byte) (int, error) {
	w := 0 // p[:w] is done and does not end in a slash
	for i := 0; i < len(p); {
		end := i + 1
		for end < len(p) && p[end] != '/' {
			end++
		}
		seg := p[i+1 : end]
		if k := dots(seg); k > 0 {
			if k < len(seg) {
				return 0, ErrTargetDotParam
			}
			if k == 2 {
				if w == 0 {
					return 0, ErrTargetDots
				}
				w = bytes.LastIndexByte(p[:w], '/')
			}
			if end == len(p) { // "/a/." and "/a/b/.." are folders
				p[w] = '/'
				w++
			}
		} else {
			w += copy(p[w:], p[i:end])
		}
		i = end
	}
	return w, nil
}

// dots gives 1 or 2 when seg is "." or "..", alone or before a ';', 0 otherwise.
func dots(seg []byte) int {
	k := 0
	for k < len(seg) && k < 2 && seg[k] == '.' {
		k++
	}
	if k == 0 || k < len(seg) && seg[k] != ';' {
		return 0
	}
	return k
}

// checkEscapes refuses what a second decoding would change: %25 before two hex
// digits, and escaped overlong UTF-8, which lenient decoders read as other
// characters. p is normal otherwise.
func checkEscapes(p []byte) error {
	for i := bytes.IndexByte(p, '%'); i >= 0 && i+2 < len(p); {
		v := unhex(p[i+1])<<4 | unhex(p[i+2])
		rest := p[i+3:]
		if v == '%' && len(rest) >= 2 && isHex(rest[0]) && isHex(rest[1]) {
			return ErrTargetDouble
		}
		if v >= 0xc0 && len(rest) >= 3 && rest[0] == '%' {
			if overlong(v, unhex(rest[1])<<4|unhex(rest[2])) {
				return ErrTargetUTF8
			}
		}
		next := bytes.IndexByte(rest, '%')
		if next < 0 {
			return nil
		}
		i += 3 + next
	}
	return nil
}

// overlong reports whether lead and next start a UTF-8 sequence that is longer
// than it may be, or longer than UTF-8 goes.
func overlong(lead, next byte) bool {
	if next&0xc0 != 0x80 {
		return false
	}
	switch {
	case lead < 0xc2:
		return true
	case lead == 0xe0:
		return next < 0xa0
	case lead == 0xf0:
		return next < 0x90
	}
	return lead >= 0xf8
}

// unreserved characters mean the same escaped or not (RFC 3986 section 2.3).
func unreserved(c byte) bool {
	return c-'0' < 10 || (c|0x20)-'a' < 26 || c == '-' || c == '.' || c == '_' || c == '~'
}

// unhex gives the value of a hex digit.
func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return (c | 0x20) - 'a' + 10
}

// escape writes %XX.
func escape(dst []byte, c byte) int {
	const digits = "0123456789ABCDEF"
	dst[0], dst[1], dst[2] = '%', digits[c>>4], digits[c&15]
	return 3
}
