package http1

import (
	"bytes"

	"github.com/sluicelb/sluice/core/ascii"
)

// checkUpgrade decides whether the request may upgrade to its requested protocol, and checks
// its handshake (RFC 9110 section 7.8).
func (r *Request) checkUpgrade(options uint8, body bool) error {
	i := r.Find(KnownUpgrade)
	if i < 0 {
		return nil
	}
	v := r.Value(i)
	socket := isWebSocket(v)
	// A WebSocket begins with a GET whose body nobody reads. The upgrade of a request with a
	// body is ignored, as servers may do.
	r.Upgrade = r.Minor == 1 && options&optUpgrade != 0 && !r.twice.has(KnownUpgrade) && offered(v) && !(socket && body)
	r.Fields[i].drop(!r.Upgrade)
	if r.Upgrade && socket {
		return r.checkWebSocket()
	}
	return nil
}

// checkWebSocket checks a handshake like a server (RFC 6455 section 4.2.1). The backend
// judges the version, because its response lists the supported ones.
func (r *Request) checkWebSocket() error {
	if r.Verb != VerbGET {
		return ErrWebSocketMethod
	}
	i := r.Lookup(webSocketKey)
	switch {
	case i < 0:
		return ErrWebSocketKeyMissing
	case r.LookupFrom(webSocketKey, i+1) >= 0, !isWebSocketKey(r.Value(i)):
		return ErrWebSocketKey
	}
	return nil
}

const webSocketKey = "sec-websocket-key"

// WebSocketKey returns the Sec-WebSocket-Key of a request that upgrades to WebSocket, else
// nil.
func (r *Request) WebSocketKey() []byte {
	if !r.Upgrade || !isWebSocket(r.Protocol()) {
		return nil
	}
	return r.Value(r.Lookup(webSocketKey))
}

// Protocol returns the value of Upgrade; the field Upgrade must be set.
func (r *Request) Protocol() []byte { return r.Value(r.Find(KnownUpgrade)) }

// isWebSocketKey reports whether v is 16 bytes in base64.
func isWebSocketKey(v []byte) bool {
	const size, digits = 24, 22
	if len(v) != size || v[digits] != '=' || v[digits+1] != '=' {
		return false
	}
	for _, c := range v[:digits] {
		if l := ascii.Lower(c); (l < 'a' || l > 'z') && (c < '0' || c > '9') && c != '+' && c != '/' {
			return false
		}
	}
	return true
}

// offered reports whether the Upgrade value v is a single permitted protocol. HTTP and TLS
// on the same connection would hide requests from the proxy.
func offered(v []byte) bool {
	name := protocolName(v)
	if len(name) == 0 || foldIs(name, "h2c") || foldIs(name, "h2") || foldIs(name, "http") || foldIs(name, "tls") {
		return false
	}
	return len(name) == len(v) || v[len(name)] == '/' && isToken(v[len(name)+1:])
}

// protocolName returns the protocol of an element of Upgrade without its version.
func protocolName(v []byte) []byte {
	i := 0
	for i < len(v) && token[v[i]] != tokenNot {
		i++
	}
	return v[:i]
}

func isWebSocket(v []byte) bool { return ascii.Is(protocolName(v), "websocket") }

// Switch checks the head of a 101: its Upgrade must be protocol, the Upgrade value of the
// request (RFC 9110 section 7.8). The function accepts checks the Sec-WebSocket-Accept of a
// WebSocket (RFC 6455 section 4.1).
func (r *Response) Switch(protocol []byte, accepts func(accept []byte) bool) error {
	i := r.Find(KnownUpgrade)
	switch {
	case i < 0:
		return ErrSwitchUpgrade
	case !r.Upgrade:
		return ErrSwitchConnection
	}
	for ; i < r.NumFields; i++ {
		if r.Fields[i].Known == KnownUpgrade && !switchesTo(r.Value(i), protocol) {
			return ErrSwitchProtocol
		}
	}
	if !isWebSocket(protocol) {
		return nil
	}
	const name = "sec-websocket-accept"
	switch i = r.Lookup(name); {
	case i < 0:
		return ErrAcceptMissing
	case r.LookupFrom(name, i+1) >= 0, !accepts(r.Value(i)):
		return ErrAccept
	}
	return nil
}

// switchesTo reports whether the Upgrade value v names only protocol, in any version.
func switchesTo(v, protocol []byte) bool {
	name := protocolName(v)
	return ascii.EqualFold(name, protocolName(protocol)) && (len(name) == len(v) || v[len(name)] == '/')
}

const (
	webSocketProtocol   = "sec-websocket-protocol"
	webSocketExtensions = "sec-websocket-extensions"
)

// AppendWebSocketOffers appends the subprotocols offered by the client, followed by the
// extensions from index extensions on. Both are comma lists.
func (r *Request) AppendWebSocketOffers(dst []byte) (offers []byte, extensions int) {
	dst = r.appendValues(dst, webSocketProtocol)
	return r.appendValues(dst, webSocketExtensions), len(dst)
}

// appendValues appends all values of a field as one comma list.
func (h *Head) appendValues(dst []byte, name string) []byte {
	for i := h.Lookup(name); i >= 0; i = h.LookupFrom(name, i+1) {
		dst = append(append(dst, h.Value(i)...), ',')
	}
	return dst
}

// SelectsOffered checks that a 101 to WebSocket selects only subprotocols and extensions
// that the client offered. Otherwise the client would fail the connection (RFC 6455 section
// 4.1).
func (r *Response) SelectsOffered(protocols, extensions []byte) error {
	if i := r.Lookup(webSocketProtocol); i >= 0 && (r.LookupFrom(webSocketProtocol, i+1) >= 0 || !lists(protocols, r.Value(i))) {
		return ErrSubprotocol
	}
	for i := r.Lookup(webSocketExtensions); i >= 0; i = r.LookupFrom(webSocketExtensions, i+1) {
		for rest := r.Value(i); len(rest) > 0; {
			var one []byte
			if one, rest = cutList(rest); len(one) > 0 && !lists(extensions, withoutParameters(one)) {
				return ErrExtension
			}
		}
	}
	return nil
}

// lists reports whether an element of a comma list, without its parameters, equals name.
func lists(list, name []byte) bool {
	for len(list) > 0 {
		var one []byte
		if one, list = cutList(list); len(one) > 0 && bytes.Equal(withoutParameters(one), name) {
			return true
		}
	}
	return false
}

// withoutParameters returns an element of a list up to its first semicolon.
func withoutParameters(element []byte) []byte {
	name, _, _ := bytes.Cut(element, semicolon)
	return trim(name)
}

var semicolon = []byte{';'}
