package http2

import (
	"strconv"

	"github.com/sluicelb/sluice/core/ascii"
)

// message is one header block on its way to HTTP/1: its checked properties (RFC 9113 section
// 8) and its fields as lines. A Shared has a single one, reused for each block.
type message struct {
	fields  []byte // lines of the forwarded fields
	pseudo  []byte // values of pseudo-header fields, concatenated
	cookies []byte // Cookie values, joined
	head    []byte // the whole head as HTTP/1.1

	values  [6]span // ranges of the pseudo-header fields in pseudo, from kindMethod on
	have    uint16  // bits of the pseudo-header fields present
	host    span    // range of the Host value in pseudo
	hosted  bool
	regular bool // a regular field was seen
	te      bool
	over    bool // the list is too long
	length  int64
	size    int
	bad     *Error // why the message is malformed, or nil
}

// span is a range of message.pseudo.
type span struct{ from, to int }

func (m *message) reset() {
	*m = message{fields: m.fields[:0], pseudo: m.pseudo[:0], cookies: m.cookies[:0], head: m.head[:0], length: -1}
}

// decode decodes a header block into c.sh.in. It fails if the block cannot be decompressed,
// exceeds the bomb rate, or is longer than a client's limit. Malformed messages are decoded
// to their end, because the table depends on them.
func (c *Conn) decode(b []byte) *Error {
	m := &c.sh.in
	m.reset()
	length := len(b)
	b, ok := c.dec.begin(b)
	if !ok {
		return ErrCompression
	}
	limit := c.sh.limits.HeaderList
	var f field
	for len(b) > 0 {
		start := len(m.fields)
		if b, m.fields, ok = c.dec.next(b, m.fields, m.over, &f); !ok {
			return ErrCompression
		}
		if m.size += f.name + f.value + entryCost; m.size > limit {
			if !c.client {
				return ErrHeadTooLong // such floods rely on decoding for the table's sake
			}
			m.over = true // the connection is shared by many clients
		}
		if f.kind == kindPlain && !m.over {
			m.regular = true
			continue
		}
		if !m.over && m.bad == nil {
			m.bad = m.special(m.fields[start:], &f)
		}
		m.fields = m.fields[:start]
	}
	if m.size >= bombSize && m.size >= bombRatio*length {
		return c.spend(int32(m.size/bombToken), ErrBomb)
	}
	return nil
}

// special handles a field that is not simply forwarded. Sec-WebSocket-Key never is, see
// appendKey.
func (m *message) special(line []byte, f *field) *Error {
	value := line[f.name+2 : len(line)-2]
	if f.kind.pseudo() {
		return m.pseudoField(f.kind, value)
	}
	m.regular = true
	switch f.kind {
	case kindBadName:
		return ErrFieldName
	case kindBadValue:
		return ErrFieldValue
	case kindConnection:
		return ErrConnection
	case kindTE:
		if m.te = ascii.Is(value, "trailers"); !m.te {
			return ErrTE
		}
	case kindHost:
		if m.hosted || len(value) == 0 {
			return ErrHost
		}
		m.hosted, m.host = true, m.keep(value)
	case kindCookie:
		if len(m.cookies) > 0 {
			m.cookies = append(m.cookies, "; "...)
		}
		m.cookies = append(m.cookies, value...)
	case kindLength:
		return m.contentLength(value)
	}
	return nil
}

// pseudoField handles a pseudo-header field: at most once each, before all regular fields.
func (m *message) pseudoField(k kind, value []byte) *Error {
	if k == kindPseudo || m.regular || m.have>>(k-kindPseudo)&1 != 0 {
		return ErrPseudo
	}
	if len(value) == 0 {
		return ErrPseudoMissing
	}
	m.have |= 1 << (k - kindPseudo)
	m.values[k-kindMethod] = m.keep(value)
	return nil
}

func (m *message) keep(value []byte) span {
	from := len(m.pseudo)
	m.pseudo = append(m.pseudo, value...)
	return span{from, len(m.pseudo)}
}

// value returns a pseudo-header field, or empty if it is absent.
func (m *message) value(k kind) []byte { return m.of(m.values[k-kindMethod]) }

func (m *message) of(s span) []byte { return m.pseudo[s.from:s.to] }

// contentLength parses Content-Length: a single value of at most 18 digits.
func (m *message) contentLength(value []byte) *Error {
	if m.length >= 0 || len(value) == 0 || len(value) > 18 {
		return ErrLength
	}
	n := int64(0)
	for _, c := range value {
		if c -= '0'; c > 9 {
			return ErrLength
		}
		n = n*10 + int64(c)
	}
	m.length = n
	return nil
}

// appendLength appends Content-Length.
func (m *message) appendLength(n int64) {
	m.head = append(m.head, "content-length: "...)
	m.head = strconv.AppendInt(m.head, n, 10)
	m.head = append(m.head, "\r\n"...)
}

// trailers returns the lines of a trailer block. Fields that belong in a head are dropped;
// pseudo-header fields make it malformed.
func (m *message) trailers() ([]byte, *Error) {
	if m.bad == nil && m.have != 0 {
		m.bad = ErrPseudo
	}
	if m.bad == nil && m.over {
		m.bad = ErrHeadTooLong
	}
	return m.fields, m.bad
}
