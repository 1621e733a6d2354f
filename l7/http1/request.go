package http1

import (
	"bytes"
	"encoding/binary"
)

// Request is the head of a request. It is large: keep one per loop and reuse it.
//
// Upgrade means that the client requests another protocol on HTTP/1.1, by Connection:
// upgrade and one Upgrade field with one protocol. A body precedes the bytes of that
// protocol. Upgrades to HTTP/2 or TLS are not offered, because they would hide requests from
// the proxy.
type Request struct {
	Head

	Method Span
	Verb   Verb
	Target Span // as sent by the client

	// Path is the canonical path and query, or "*"; routes are matched on it. It aliases Buf
	// if the target was canonical, else an array of r. It is valid until the next Parse.
	Path []byte
	// Sent is the path and query for the backend: the client's, until Retarget or
	// SendCanonical. Valid as long as Path.
	Sent []byte
	// Readings are other interpretations of the path by backends; nearly always empty. Valid
	// as long as Path.
	Readings []Reading
	// Ambiguity is why a strict farm refuses the target, or nil.
	Ambiguity *Error
	// Host is the canonical authority: lower case, without a trailing dot, with the port if
	// given. It is empty only on HTTP/1.0. Valid as long as Path.
	Host []byte
	// HostSent is the authority for the backend: as spelled by the client, until
	// SendCanonical. Signatures of requests may cover it. Valid as long as Path.
	HostSent []byte

	Expect100  bool // the client waits for 100 Continue before it sends the body
	TETrailers bool // the client accepts trailers (TE: trailers, listed in Connection)

	shape    uint8 // of Target, see targetEnd
	verbatim bool  // Sent is Target
	trusted  bool  // see Trust
	path     [MaxTarget]byte
	sent     []byte // scratch of Sent
	space    []byte // scratch of Readings
	host     [maxAuthority]byte
	other    [maxAuthority]byte // authority of an absolute target
}

// Parse parses a request head from the start of b. It returns the length of the head, or 0
// and nil if b is incomplete: call it again with the same bytes and more (b may have moved).
// Errors are *Error and final for the connection. After a complete head or an error the next
// call starts a new head. r.Buf aliases b afterwards; all other fields are valid only after
// a complete head.
func (r *Request) Parse(b []byte) (n int, err error) {
	if r.waits(b) {
		return 0, nil
	}
	n, err = r.parse(b[:min(len(b), MaxHead)])
	return r.result(b, n, err)
}

// parse is Parse within the size limit. Parsed lines are not parsed again. n is undefined
// after an error.
func (r *Request) parse(b []byte) (n int, err error) {
	if r.next == 0 {
		r.begin()
		if r.next, err = r.requestLine(b); r.next == 0 || err != nil {
			return 0, err
		}
	}
	if n, err = r.parseFields(b, r.next, dropRequest, false); n == 0 || err != nil {
		return 0, err
	}
	return n, r.finish()
}

// The two versions as little-endian numbers.
const (
	http1x = 'H' | 'T'<<8 | 'T'<<16 | 'P'<<24 | '/'<<32 | '1'<<40 | '.'<<48
	http11 = http1x | '1'<<56
	http10 = http1x | '0'<<56
)

// requestLine parses "METHOD SP target SP HTTP/1.x CRLF" and returns the offset of the next
// line, or 0 if bytes are missing.
func (r *Request) requestLine(b []byte) (int, error) {
	i := 0
	if len(b) > 0 && b[0] == '\r' { // an empty line left over by an old client
		if len(b) < 2 {
			return 0, nil
		}
		if b[1] != '\n' {
			return 0, ErrLineEnd
		}
		i = 2
	}
	start := i
	for i < len(b) && token[b[i]] != tokenNot {
		if i-start == MaxMethod {
			return 0, ErrMethodTooLong
		}
		i++
	}
	if i == len(b) {
		return 0, nil
	}
	if b[i] != ' ' || i == start {
		return 0, ErrRequestLine
	}
	r.Method = Span{uint32(start), uint32(i)}
	i++
	start = i
	i, r.shape = targetEnd(b, i)
	if i-start > MaxTarget {
		return 0, ErrTargetTooLong
	}
	if i == len(b) {
		return 0, nil
	}
	if b[i] != ' ' {
		return 0, ErrTargetByte
	}
	if i == start {
		return 0, ErrTarget
	}
	r.Target = Span{uint32(start), uint32(i)}
	i++
	const line = len("HTTP/1.1\r\n")
	if len(b)-i < line || b[i+8] != '\r' || b[i+9] != '\n' {
		return 0, versionError(b[i:])
	}
	switch binary.LittleEndian.Uint64(b[i:]) {
	case http11:
		r.Minor = 1
	case http10:
		r.Minor = 0
	default:
		return 0, versionError(b[i:])
	}
	return i + line, nil
}

// finish evaluates the fields of a complete head.
func (r *Request) finish() error {
	r.Expect100, r.TETrailers, r.trusted = false, false, false
	method := r.Method.Of(r.Buf)
	r.Verb = verbOf(method)
	if r.Verb == VerbOther && string(method) == "CONNECT" {
		return ErrConnect
	}
	if err := r.framing(); err != nil {
		return err
	}
	options, err := r.connection()
	if err != nil {
		return err
	}
	if err := r.findHost(); err != nil {
		return err
	}
	if err := r.readTarget(); err != nil {
		return err
	}
	const rare = 1<<KnownUpgrade | 1<<KnownExpect | 1<<KnownTE
	if r.have&rare != 0 || r.Verb == VerbTRACE {
		return r.finishRare(options)
	}
	return nil
}

// readTarget sets Path, Sent and Readings.
func (r *Request) readTarget() error {
	r.Ambiguity, r.Readings, r.verbatim = nil, r.Readings[:0], false
	if r.shape&^targetParam != 0 {
		return r.canonical()
	}
	r.Path, r.verbatim = r.Target.Of(r.Buf), true
	r.Sent = r.Path
	if r.shape == 0 {
		return nil
	}
	path, query := splitQuery(r.Path)
	return r.read(path, path, query, 0)
}

// findHost sets r.Host from the Host field.
func (r *Request) findHost() error {
	r.Host, r.HostSent = nil, nil
	if !r.have.has(KnownHost) {
		if r.Minor == 1 {
			return ErrHostMissing
		}
		return nil
	}
	if r.twice.has(KnownHost) {
		return ErrHostRepeated
	}
	v := r.Value(int(r.first[KnownHost]))
	if len(v) == 0 {
		// Valid only for targets without an authority, which no farm serves.
		if r.Minor == 1 {
			return ErrHostMissing
		}
		return nil
	}
	h, ok := canonicalHost(v, &r.host)
	if !ok {
		return ErrHost
	}
	r.Host, r.HostSent = h, v
	return nil
}

// canonicalHost returns the canonical form of the authority v: v itself if it is canonical,
// else a copy in scratch.
func canonicalHost(v []byte, scratch *[maxAuthority]byte) (h []byte, ok bool) {
	i, upper := 0, false
	if len(v) > 0 && v[0] == '[' {
		if i, upper = literalEnd(v); i == 0 {
			return nil, false
		}
	} else {
		kinds, before := uint8(0), uint8(hostDot)
		for ; i < len(v); i++ {
			k := hostByte[v[i]]
			if k == 0 {
				break
			}
			if k&before&hostDot != 0 { // empty label
				return nil, false
			}
			kinds, before = kinds|k, k
		}
		upper = kinds&hostUpper != 0
		if i == 0 || i > MaxHost {
			return nil, false
		}
	}
	if i == len(v) && !upper && v[i-1] != '.' {
		return v, true
	}
	return canonicalHostSlow(v, i, upper, scratch)
}

// Body returns the framing of the request body: BodyNone, BodyLength (ContentLength bytes,
// at least one) or BodyChunked.
func (r *Request) Body() Body {
	switch {
	case r.Chunked:
		return BodyChunked
	case r.ContentLength > 0:
		return BodyLength
	}
	return BodyNone
}

// DropExpect stops the forwarding of Expect: 100-continue.
func (r *Request) DropExpect() {
	r.Expect100 = false
	for i := range r.Fields[:r.NumFields] {
		if f := &r.Fields[i]; f.Known == KnownExpect {
			f.drop(true)
		}
	}
}

// Verb is a known request method. Methods are case-sensitive.
type Verb uint8

// Idempotent reports whether a request with v may be repeated after its connection failed
// (RFC 9110 section 9.2.2).
func (v Verb) Idempotent() bool {
	const set = 1<<VerbGET | 1<<VerbHEAD | 1<<VerbPUT | 1<<VerbDELETE | 1<<VerbOPTIONS | 1<<VerbTRACE |
		1<<VerbPROPFIND | 1<<VerbSEARCH | 1<<VerbREPORT
	return v.In(set)
}

// verbOf returns the verb of a method. The first cases cover nearly all traffic; the rest is
// looked up in table order.
func verbOf(method []byte) Verb {
	switch string(method) {
	case "GET":
		return VerbGET
	case "POST":
		return VerbPOST
	case "HEAD":
		return VerbHEAD
	}
	for v := VerbPUT; v < numVerbs; v++ {
		if string(method) == verbNames[v] {
			return v
		}
	}
	return VerbOther
}

// VerbMask is a set of verbs, one bit each.
type VerbMask uint64

// In reports whether set holds v. Only the set of all verbs holds VerbOther.
func (v Verb) In(set VerbMask) bool { return set>>v&1 != 0 }

// Forward holds the proxy's additions to a forwarded request.
type Forward struct {
	ClientIP []byte   // text of the client's address without port; IPv6 without brackets
	Proto    []byte   // "http" or "https"
	Host     []byte   // replaces the client's Host unless nil; X-Forwarded-Host keeps the client's
	Close    bool     // adds Connection: close
	Extra    []byte   // additional field lines, made by AppendField
	Given    Identity // identity fields in Extra, which are not added again
}

// AppendRequest appends the head for a backend: "METHOD path HTTP/1.1", Host, the forwarded
// fields in their order and spelling, the additions of f, and the framing. The bytes that r
// was parsed from must still be valid.
func AppendRequest(dst []byte, r *Request, f *Forward) []byte {
	b := r.Buf
	first := 0
	if r.asIs() && f.Host == nil {
		// The request line and the Host after it are unchanged and belong to the first run
		// of copied bytes.
		dst = r.appendKept(dst, r.Method.Off, 1)
	} else {
		dst = append(dst, r.Method.Of(b)...)
		dst = append(dst, ' ')
		dst = append(dst, r.Sent...)
		dst = append(dst, " HTTP/1.1\r\nHost: "...)
		if f.Host != nil {
			dst = append(dst, f.Host...)
		} else {
			dst = append(dst, r.HostSent...)
		}
		dst = append(dst, "\r\n"...)
		dst = r.appendKept(dst, noRun, first)
	}
	if r.trusted || f.Given != 0 {
		dst = r.appendIdentitySlow(dst, f)
	} else {
		dst = appendIdentity(dst, r.Host, f)
	}
	dst = r.appendFraming(dst)
	if r.Upgrade || r.TETrailers || f.Close {
		dst = appendConnection(dst, r.Upgrade, r.TETrailers, f.Close)
	}
	dst = append(dst, f.Extra...)
	return append(dst, "\r\n"...)
}

// asIs reports whether the request line and the first field can be copied unchanged, which
// is the usual case.
func (r *Request) asIs() bool {
	f := &r.Fields[0]
	return r.verbatim && r.Minor == 1 && f.Known == KnownHost &&
		f.Value.Off == f.Name.End+2 && r.Buf[f.Name.End+1] == ' ' &&
		len(r.HostSent) == f.Value.Len() && &r.HostSent[0] == &r.Buf[f.Value.Off] &&
		r.Buf[f.Value.End] == '\r'
}

// appendIdentity writes the identity fields of the client.
func appendIdentity(dst []byte, host []byte, f *Forward) []byte {
	if len(f.ClientIP) > 0 {
		dst = append(dst, "X-Forwarded-For: "...)
		dst = append(dst, f.ClientIP...)
		dst = append(dst, "\r\n"...)
	}
	dst = append(dst, "X-Forwarded-Proto: "...)
	dst = append(dst, f.Proto...)
	if len(host) > 0 {
		dst = append(dst, "\r\nX-Forwarded-Host: "...)
		dst = append(dst, host...)
	}
	return appendForwarded(append(dst, "\r\nForwarded: "...), host, f)
}

// appendForwarded ends a line with our element of Forwarded (RFC 7239), with quotes around
// addresses with colons and IPv6 in brackets (section 6).
func appendForwarded(dst, host []byte, f *Forward) []byte {
	switch {
	case len(f.ClientIP) == 0:
		dst = append(dst, "for=unknown;"...)
	case bytes.IndexByte(f.ClientIP, ':') >= 0:
		dst = append(dst, "for=\"["...)
		dst = append(dst, f.ClientIP...)
		dst = append(dst, "]\";"...)
	default:
		dst = append(dst, "for="...)
		dst = append(dst, f.ClientIP...)
		dst = append(dst, ';')
	}
	if len(host) > 0 {
		dst = append(dst, "host=\""...)
		dst = append(dst, host...)
		dst = append(dst, "\";"...)
	}
	dst = append(dst, "proto="...)
	dst = append(dst, f.Proto...)
	return append(dst, "\r\n"...)
}
