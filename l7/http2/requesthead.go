package http2

import (
	"bytes"

	"github.com/sluicelb/sluice/core/ascii"
)

// Bits of message.have.
const (
	haveMethod    = 1 << (kindMethod - kindPseudo)
	haveScheme    = 1 << (kindScheme - kindPseudo)
	haveAuthority = 1 << (kindAuthority - kindPseudo)
	havePath      = 1 << (kindPath - kindPseudo)
	haveProtocol  = 1 << (kindProtocol - kindPseudo)
	haveStatus    = 1 << (kindStatus - kindPseudo)
)

// request checks the decoded request (RFC 9113 section 8.3.1) and writes it as an HTTP/1.1
// head. It checks only what that form would hide. l7/http1 does the rest and interprets path
// and host.
func (m *message) request(end bool) (head []byte, why *Error) {
	if why := m.checkRequest(); why != nil {
		return nil, why
	}
	authority := m.value(kindAuthority)
	if len(authority) == 0 {
		authority = m.of(m.host)
	}
	upgrade := m.have&haveProtocol != 0
	h := m.head
	switch {
	case upgrade:
		h = append(append(append(h, "GET "...), m.value(kindPath)...), " HTTP/1.1\r\nHost: "...)
	case m.have&havePath == 0: // CONNECT
		h = append(append(append(h, "CONNECT "...), authority...), " HTTP/1.1\r\nHost: "...)
	default:
		h = append(append(h, m.value(kindMethod)...), ' ')
		h = append(append(h, m.value(kindPath)...), " HTTP/1.1\r\nHost: "...)
	}
	h = append(append(h, authority...), "\r\n"...)
	m.head = append(h, m.fields...)
	if len(m.cookies) > 0 {
		m.head = append(append(append(m.head, "cookie: "...), m.cookies...), "\r\n"...)
	}
	m.requestFraming(end, upgrade)
	return m.head, nil
}

// requestFraming appends the fields that HTTP/2 expresses differently.
func (m *message) requestFraming(end, upgrade bool) {
	switch {
	case upgrade:
		m.head = append(append(m.head, "upgrade: "...), m.value(kindProtocol)...)
		m.head = append(m.head, "\r\nconnection: upgrade\r\n"...)
		if ascii.Is(m.value(kindProtocol), "websocket") {
			m.head = appendKey(m.head)
		}
		m.head = append(m.head, "\r\n"...)
		return
	case m.te:
		m.head = append(m.head, "te: trailers\r\nconnection: te\r\n"...)
	}
	switch {
	case m.length >= 0:
		m.appendLength(m.length)
	case !end:
		m.head = append(m.head, "transfer-encoding: chunked\r\n"...)
	}
	m.head = append(m.head, "\r\n"...)
}

// checkRequest returns the error in a malformed request.
func (m *message) checkRequest() *Error {
	if m.bad != nil {
		return m.bad
	}
	method, authority := m.value(kindMethod), m.value(kindAuthority)
	connect := string(method) == "CONNECT"
	switch {
	case m.have&haveStatus != 0:
		return ErrPseudo
	case !consists(method, byteLower|byteUpper):
		if len(method) == 0 {
			return ErrPseudoMissing
		}
		return ErrMethod
	case connect && m.have&haveProtocol == 0:
		if m.have != haveMethod|haveAuthority {
			return ErrPseudo // RFC 9113 section 8.5
		}
	case !connect && m.have&haveProtocol != 0:
		return ErrPseudo // RFC 8441 section 4
	case m.have&(haveScheme|havePath) != haveScheme|havePath:
		return ErrPseudoMissing
	}
	if m.have&haveProtocol != 0 && (!consists(m.value(kindProtocol), byteLower|byteUpper) || m.have&haveAuthority == 0) {
		return ErrPseudo
	}
	if why := m.checkTarget(method); why != nil {
		return why
	}
	switch {
	case len(authority) == 0 && !m.hosted:
		return ErrPseudoMissing
	case len(authority) > 0 && m.hosted && !sameHost(m.value(kindScheme), authority, m.of(m.host)):
		return ErrHost
	}
	if len(authority) == 0 {
		authority = m.of(m.host)
	}
	if !consists(authority, byteTarget) || bytes.IndexByte(authority, '@') >= 0 {
		return ErrAuthority
	}
	return nil
}

// sameHost compares two authorities. The default port of the scheme may be omitted (RFC 9110
// section 4.2.3).
func sameHost(scheme, a, b []byte) bool {
	usual := []byte(":80")
	if string(scheme) == "https" {
		usual = []byte(":443")
	}
	return ascii.EqualFold(bytes.TrimSuffix(a, usual), bytes.TrimSuffix(b, usual))
}

// checkTarget checks :scheme and :path if present.
func (m *message) checkTarget(method []byte) *Error {
	if m.have&haveScheme != 0 {
		if s := m.value(kindScheme); string(s) != "https" && string(s) != "http" {
			return ErrScheme
		}
	}
	if m.have&havePath == 0 {
		return nil
	}
	path := m.value(kindPath)
	if path[0] != '/' && (string(path) != "*" || string(method) != "OPTIONS") || !consists(path, byteTarget) {
		return ErrPath
	}
	return nil
}
