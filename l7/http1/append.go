package http1

import (
	"bytes"
	"strconv"
)

// Forward is what the proxy adds to a request it sends on.
type Forward struct {
	ClientIP []byte   // text of the client's address without port; IPv6 without brackets
	Proto    []byte   // "http" or "https"
	Host     []byte   // sent as Host instead of the client's, unless nil; X-Forwarded-Host stays the client's
	Close    bool     // adds Connection: close
	Extra    []byte   // more field lines, made by AppendField
	Given    Identity // what of identities is in Extra, and not written for that reason
}

// AppendRequest appends the head that a backend gets: "METHOD path HTTP/1.1",
// Host, the fields that are not dropped in their order and spelling, what f
// adds, and the framing. The bytes r was parsed from must still be there.
func AppendRequest(dst []byte, r *Request, f *Forward) []byte {
	b := r.Buf
	first := 0
	if r.asIs() && f.Host == nil {
		// The request line and the Host that follows it are canonical: they
		// are part of the first run of copied bytes.
		dst = r.appendKept(dst, r.Method.Off, 1)
	} else {
		dst = append(dst, r.Method.Of(b)...)
		dst = append(dst, ' ')
		dst = append(dst, r.Path...)
		dst = append(dst, " HTTP/1.1\r\nHost: "...)
		if f.Host != nil {
			dst = append(dst, f.Host...)
		} else {
			dst = append(dst, r.Host...)
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

// asIs reports whether the request line and the first field are, byte for byte,
// what we would write: the usual case.
func (r *Request) asIs() bool {
	f := &r.Fields[0]
	return r.simple && r.Minor == 1 && f.Known == KnownHost &&
		f.Value.Off == f.Name.End+2 && r.Buf[f.Name.End+1] == ' ' &&
		len(r.Host) == f.Value.Len() && &r.Host[0] == &r.Buf[f.Value.Off] &&
		r.Buf[f.Value.End] == '\r'
}

// appendIdentity writes who the client is.
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

// appendFraming writes the one field that says where the body ends.
func (h *Head) appendFraming(dst []byte) []byte {
	if h.Chunked {
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
		if names := h.Trailers(); len(names) > 0 {
			dst = append(append(append(dst, "Trailer: "...), names...), "\r\n"...)
		}
		return dst
	}
	if h.ContentLength < 0 {
		return dst
	}
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, h.ContentLength, 10)
	return append(dst, "\r\n"...)
}

// appendConnection writes the Connection field with at least one option, and TE.
func appendConnection(dst []byte, upgrade, te, closing bool) []byte {
	if te {
		dst = append(dst, "TE: trailers\r\n"...)
	}
	dst = append(dst, "Connection: "...)
	if upgrade {
		dst = append(dst, "upgrade, "...)
	}
	if te {
		dst = append(dst, "TE, "...)
	}
	if closing {
		dst = append(dst, "close, "...)
	}
	return append(dst[:len(dst)-2], "\r\n"...)
}

// noRun is not an offset.
const noRun = ^uint32(0)

// appendKept copies the lines of the fields from index i on that are not
// dropped or removed. Neighbours are copied together; a run of bytes to be copied that is
// already open starts at run.
func (h *Head) appendKept(dst []byte, run uint32, i int) []byte {
	for ; i < h.NumFields; i++ {
		f := &h.Fields[i]
		if f.state == 0 {
			if run == noRun {
				run = f.Name.Off
			}
			continue
		}
		if run != noRun {
			dst = append(dst, h.Buf[run:f.Name.Off]...)
			run = noRun
		}
		if f.state == edited {
			dst = appendLine(dst, h.Name(i), h.values[i])
		}
	}
	if run != noRun {
		dst = append(dst, h.Buf[run:h.Len-2]...)
	}
	return dst
}

// appendLine writes a field line.
func appendLine(dst, name, value []byte) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}

// ResponseOptions is what the proxy changes in a response it sends on.
type ResponseOptions struct {
	Close     bool // adds Connection: close
	KeepAlive bool // adds Connection: keep-alive, for HTTP/1.0 clients that asked for it
	Unchunk   bool // leaves Transfer-Encoding out: the body is sent decoded (HTTP/1.0 client)

	Extra []byte // more field lines, made by AppendField
}

// AppendResponse appends the head the client gets: the status line as
// HTTP/1.1, the fields that are not dropped, what o adds, and the framing. 1xx
// heads are written like all others; a 101 keeps its Upgrade. Framing that a
// 1xx or 204 must not have is left out.
func AppendResponse(dst []byte, r *Response, o *ResponseOptions) []byte {
	run := uint32(0)
	if r.Minor == 0 || r.bare {
		dst = append(dst, "HTTP/1.1"...)
		dst = append(dst, r.Buf[8:12]...)
		dst = append(dst, ' ')
		run = r.Reason.Off
	}
	dst = r.appendKept(dst, run, 0)
	if r.Status >= 200 && r.Status != 204 && !(o.Unchunk && r.Chunked) {
		dst = r.appendFraming(dst)
	}
	if upgrade := r.Upgrade || r.Status == 426 && r.have.has(KnownUpgrade); upgrade || o.Close || o.KeepAlive {
		dst = appendResponseConnection(dst, upgrade, o)
	}
	dst = append(dst, o.Extra...)
	return append(dst, "\r\n"...)
}

// appendResponseConnection writes the Connection field; Close outranks KeepAlive.
func appendResponseConnection(dst []byte, upgrade bool, o *ResponseOptions) []byte {
	if upgrade || o.Close {
		return appendConnection(dst, upgrade, false, o.Close)
	}
	return append(dst, "Connection: keep-alive\r\n"...)
}

// Value is a field value that cannot break out of its line. The zero Value
// stands for no value.
type Value struct{ b []byte }

// CheckValue makes a Value of b, which is borrowed; false when b holds a
// control byte other than a tab.
func CheckValue(b []byte) (v Value, ok bool) {
	if textEnd(b) < len(b) {
		return Value{}, false
	}
	return Value{b[:len(b):len(b)]}, true
}

// AppendField appends the line "name: value CRLF". The name is ours, so it is
// trusted.
func AppendField(dst []byte, name string, v Value) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, v.b...)
	return append(dst, "\r\n"...)
}

// Identity is a set of the fields by which we tell a backend who the client is.
type Identity uint8

// The fields: X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host, Forwarded.
const (
	IdentityFor Identity = 1 << iota
	IdentityProto
	IdentityHost
	IdentityForwarded
)

// IdentityOf gives the member a field of this name is, 0 for any other.
func IdentityOf(name []byte) Identity {
	switch k, _ := recogniseWhole(name[:min(len(name), trailerNameBytes)]); k {
	case KnownXForwardedFor:
		return IdentityFor
	case KnownXForwardedProto:
		return IdentityProto
	case KnownXForwardedHost:
		return IdentityHost
	case KnownForwarded:
		return IdentityForwarded
	}
	return 0
}

// Trust takes what the client says of identities for true: it is a proxy we
// know. X-Forwarded-For and Forwarded get its address appended when the head is
// written, of the others what is there stays, and what is not is ours. Twins,
// and what Connection names, go on for nobody. Call it after Parse.
func (r *Request) Trust() {
	r.trusted = true
	for i := range r.Fields[:r.NumFields] {
		f := &r.Fields[i]
		if !identity.has(f.Known) || f.Known == KnownTwin || f.state&named != 0 {
			continue
		}
		f.state &^= dropped
		if f.Known == KnownXForwardedFor || f.Known == KnownForwarded {
			f.state |= merged
		}
	}
}

// Distrust takes back what Trust did to fields of one kind: they go on for
// nobody.
func (r *Request) Distrust(k Known) {
	for i := range r.Fields[:r.NumFields] {
		if f := &r.Fields[i]; f.Known == k {
			f.state = f.state&^merged | dropped
		}
	}
}

// appendIdentitySlow is appendIdentity for clients that are trusted and for
// rules that give some of the fields.
func (r *Request) appendIdentitySlow(dst []byte, f *Forward) []byte {
	if f.Given&IdentityFor == 0 && len(f.ClientIP) > 0 {
		dst = r.appendMerged(dst, "X-Forwarded-For: ", KnownXForwardedFor)
		dst = append(dst, f.ClientIP...)
		dst = append(dst, "\r\n"...)
	}
	if f.Given&IdentityProto == 0 && !r.passesOn(KnownXForwardedProto) {
		dst = appendLine(dst, []byte("X-Forwarded-Proto"), f.Proto)
	}
	if f.Given&IdentityHost == 0 && len(r.Host) > 0 && !r.passesOn(KnownXForwardedHost) {
		dst = appendLine(dst, []byte("X-Forwarded-Host"), r.Host)
	}
	if f.Given&IdentityForwarded == 0 {
		dst = appendForwarded(r.appendMerged(dst, "Forwarded: ", KnownForwarded), r.Host, f)
	}
	return dst
}

// passesOn reports whether a field of that kind goes on as it is.
func (r *Request) passesOn(k Known) bool {
	for i := r.Find(k); i >= 0 && i < r.NumFields; i++ {
		if f := &r.Fields[i]; f.Known == k && f.state&^edited == 0 {
			return true
		}
	}
	return false
}

// appendMerged begins a line with the values the head has, in a list that one
// more is to follow.
func (r *Request) appendMerged(dst []byte, begin string, k Known) []byte {
	dst = append(dst, begin...)
	for i := r.Find(k); i >= 0 && i < r.NumFields; i++ {
		f := &r.Fields[i]
		if f.Known != k || f.state&^edited != merged {
			continue
		}
		if v := r.Value(i); len(v) > 0 {
			dst = append(append(dst, v...), ", "...)
		}
	}
	return dst
}

// appendForwarded ends a line with our element of Forwarded (RFC 7239): it
// quotes addresses with colons and puts IPv6 in brackets (section 6).
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
