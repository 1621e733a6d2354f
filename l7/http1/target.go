package http1

import (
	"bytes"
	"unicode/utf8"

	"github.com/sluicelb/sluice/core/ascii"
)

// The backend gets the path and query byte for byte as sent by the client (Sent), unless a
// rule or the farm demands otherwise. Decisions are based on the canonical form (Path),
// which is unique for all spellings of a path:
//
//	"//"                     -> "/"
//	dot segments             removed (RFC 3986 section 5.2.4)
//	escaped unreserved bytes unescaped, %41 -> A, %2e -> '.'
//	other escapes            in upper case, %c3 -> %C3, including control bytes
//	bytes beyond ASCII       escaped
//
// Backends may interpret a path further: decode other escapes, once or repeatedly, drop
// parameters (";x"), or treat a backslash as a slash. Readings holds these forms for
// protective rules (readings.go).
//
// Raw control bytes, SP, '#' and '\', malformed escapes, and overlong UTF-8, raw or escaped,
// are always refused. So are NUL, CR and LF in any reading, and a path that climbs above the
// root in any reading. The characters "<>^`{|} and '"', which RFC 3986 forbids but clients
// send, are kept. So are bytes that are neither valid nor overlong UTF-8 (Latin-1).
//
// Queries are not modified: raw control bytes, SP and '#' are refused, and every other byte
// is kept.

// canonical sets r.Path for a target that needs normalising.
func (r *Request) canonical() error {
	t := r.Target.Of(r.Buf)
	if t[0] != '/' {
		if len(t) == 1 && t[0] == '*' && r.Verb == VerbOPTIONS {
			r.Path, r.Sent, r.verbatim = t, t, true
			return nil
		}
		rest, err := r.absolute(t)
		if err != nil {
			return err
		}
		if len(rest) == 0 && r.Verb == VerbOPTIONS {
			r.Path = append(r.path[:0], '*') // RFC 9112 section 3.2.4
			r.Sent = r.Path
			return nil
		}
		if r.Sent = rest; len(rest) == 0 || rest[0] != '/' { // RFC 9112 section 3.2.1
			r.sent = append(append(r.sent[:0], '/'), rest...)
			r.Sent = r.sent
		}
		return r.canonicalise(r.Sent)
	}
	r.Sent, r.verbatim = t, true
	return r.canonicalise(t)
}

// canonicalise sets r.Path and r.Readings from a path and query.
func (r *Request) canonicalise(t []byte) error {
	path, query := splitQuery(t)
	n, ups, err := r.canonicalPath(path)
	if err != nil {
		return err
	}
	if n+len(query) > len(r.path) {
		return ErrTargetTooLong
	}
	copy(r.path[n:], query)
	r.Path = r.path[:n+len(query)]
	r.space = r.space[:0]
	if err := r.read(path, r.path[:n], query, ups); err != nil || ups == 0 {
		return err
	}
	// The ".." segments may have removed a segment with an escaped slash: "/a/b%2Fc/../..%2Fd"
	// is "/a/d" to a backend that decodes first, and "/d" to one that decodes last.
	return r.read(r.path[:n], r.path[:n], query, 0)
}

// splitQuery splits a target into its path and its query with the '?'.
func splitQuery(t []byte) (path, query []byte) {
	if i := bytes.IndexByte(t, '?'); i >= 0 {
		return t[:i], t[i:]
	}
	return t, nil
}

// Retarget replaces the path and query, which are parsed like a client's. Path is the
// canonical form, and the backend gets it. t is borrowed as long as Path is used. After an
// error (*Error) the request is unusable.
func (r *Request) Retarget(t []byte) error {
	switch {
	case len(t) > MaxTarget:
		return ErrTargetTooLong
	case len(t) == 0 || t[0] != '/':
		return ErrTarget
	}
	end, shape := targetEnd(t, 0)
	if end < len(t) {
		return ErrTargetByte
	}
	r.verbatim, r.Ambiguity, r.Readings = false, nil, r.Readings[:0]
	if r.Path = t; shape != 0 {
		if err := r.canonicalise(t); err != nil {
			return err
		}
	}
	r.Sent = r.Path
	return nil
}

// SendCanonical sends the canonical authority and path to the backend instead of the client's,
// and replaces the readings by its own, because the backend sees no dot segments of the
// client. It returns an error (*Error) if a backend may read the canonical path as one above
// the root.
func (r *Request) SendCanonical() error {
	if len(r.Readings) > 0 {
		path, query := splitQuery(r.Path)
		r.Readings, r.space = r.Readings[:0], r.space[:0]
		if err := r.read(path, path, query, 0); err != nil {
			return err
		}
	}
	if len(r.Sent) != len(r.Path) || &r.Sent[0] != &r.Path[0] {
		r.Sent, r.verbatim = r.Path, false
	}
	r.HostSent = r.Host
	return nil
}

// absolute checks "http://authority" at the start of t and returns the rest. The authority
// must equal Host, apart from the default port of the scheme (RFC 9110 section 4.2.3). On
// HTTP/1.0 without Host it becomes the Host.
func (r *Request) absolute(t []byte) (rest []byte, err error) {
	usual := ":80"
	switch {
	case len(t) > 7 && ascii.Is(t[:7], "http://"):
		t = t[7:]
	case len(t) > 8 && ascii.Is(t[:8], "https://"):
		t, usual = t[8:], ":443"
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
		r.Host, r.HostSent = h, t[:i]
	case !bytes.Equal(withoutPort(h, usual), withoutPort(r.Host, usual)):
		return nil, ErrTargetHost
	}
	return t[i:], nil
}

// withoutPort removes the suffix port (":n") from an authority.
func withoutPort(authority []byte, port string) []byte {
	n := len(authority) - len(port)
	if n < 0 || string(authority[n:]) != port {
		return authority
	}
	return authority[:n]
}

// canonicalPath writes the canonical form of path, without query, to r.path. It returns its
// length and the number of removed ".." segments. An empty path is "/".
func (r *Request) canonicalPath(path []byte) (n, ups int, err error) {
	if n, err = r.normalise(path); err != nil {
		return 0, 0, err
	}
	p := r.path[:n]
	if err = r.checkEscapes(p); err != nil {
		return 0, 0, err
	}
	for _, segment := range dotParams {
		if bytes.Contains(p, segment) {
			r.Ambiguity = ErrTargetParam
		}
	}
	return removeDots(p)
}

// dotParams are dot segments in backends that drop parameters.
var dotParams = [][]byte{[]byte("/.;"), []byte("/..;"), []byte("/.%3B"), []byte("/..%3B")}

// normalise gives every byte of path its canonical spelling and merges slashes.
func (r *Request) normalise(path []byte) (int, error) {
	dst := &r.path
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
			if v == '/' || v == '\\' {
				r.Ambiguity = ErrTargetHidden
			}
			if unreserved(v) {
				dst[n] = v
				n++
			} else {
				n += escape(dst[n:], v)
			}
			i += 3
		case c == '\\': // a slash for some backends
			r.Ambiguity = ErrTargetHidden
			n += escape(dst[n:], c)
			i++
		case c >= 0x80:
			n += escape(dst[n:], c)
			i++
		default:
			dst[n] = c
			n++
			i++
		}
	}
	return n, nil
}

// removeDots removes "." and ".." segments from p in place. It returns the length of the rest
// and the number of ".." segments. The path p starts with a slash; the first of two in a row
// ends an empty segment.
func removeDots(p []byte) (w, ups int, err error) {
	for i := 0; i < len(p); {
		end := i + 1
		for end < len(p) && p[end] != '/' {
			end++
		}
		k := dots(p[i+1 : end])
		switch k {
		case 0:
			w += copy(p[w:], p[i:end])
		case 2:
			if ups++; w == 0 {
				return 0, 0, ErrTargetDots
			}
			w = bytes.LastIndexByte(p[:w], '/')
		}
		if k > 0 && end == len(p) { // "/a/." and "/a/b/.." are directories
			p[w] = '/'
			w++
		}
		i = end
	}
	return w, ups, nil
}

// dots returns 1 for the segment ".", 2 for "..", 0 for any other.
func dots(seg []byte) int {
	if len(seg) > 0 && len(seg) < 3 && seg[0] == '.' && seg[len(seg)-1] == '.' {
		return len(seg)
	}
	return 0
}

// checkEscapes refuses forbidden escapes and records those that a second decoding would
// change. p is normalised.
func (r *Request) checkEscapes(p []byte) error {
	for i := bytes.IndexByte(p, '%'); i >= 0 && i+2 < len(p); {
		v := unhex(p[i+1])<<4 | unhex(p[i+2])
		rest := p[i+3:]
		switch {
		case endsText(v):
			return ErrTargetControl
		case v == '%' && len(rest) >= 2 && isHex(rest[0]) && isHex(rest[1]):
			r.Ambiguity = ErrTargetDouble
		case v >= 0x80:
			char, size := escapedRune(p[i:])
			if char != utf8.RuneError || size > 1 {
				rest = p[i+3*size:]
				break
			}
			r.Ambiguity = ErrTargetUTF8
			if v >= 0xc0 && len(rest) >= 3 && rest[0] == '%' && overlong(v, unhex(rest[1])<<4|unhex(rest[2])) {
				return ErrTargetUTF8
			}
		}
		next := bytes.IndexByte(rest, '%')
		if next < 0 {
			return nil
		}
		i = len(p) - len(rest) + next
	}
	return nil
}

// escapedRune decodes the UTF-8 sequence of the escapes at the start of p, like
// utf8.DecodeRune.
func escapedRune(p []byte) (char rune, size int) {
	var b [utf8.UTFMax]byte
	n := 0
	for ; n < len(b) && len(p) >= 3 && p[0] == '%'; n++ {
		b[n], p = unhex(p[1])<<4|unhex(p[2]), p[3:]
	}
	return utf8.DecodeRune(b[:n])
}

// endsText reports whether c ends a string or a line for some reader.
func endsText(c byte) bool { return c == 0 || c == '\r' || c == '\n' }

// overlong reports whether lead and next start an overlong UTF-8 sequence or one beyond the
// range of UTF-8.
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

// unreserved reports whether c means the same escaped or not (RFC 3986 section 2.3).
func unreserved(c byte) bool {
	return c-'0' < 10 || (c|0x20)-'a' < 26 || c == '-' || c == '.' || c == '_' || c == '~'
}

// unhex returns the value of a hex digit.
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
