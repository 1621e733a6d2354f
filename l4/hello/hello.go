package hello

import (
	"encoding/binary"
	"errors"
)

const (
	// Most is the longest ClientHello there can be, in bytes, every list in it as
	// long as its length field can say (RFC 8446, section 4.1.2); those of browsers
	// have two thousand.
	Most = 2 + 32 + 1 + 32 + 2 + 65534 + 1 + 255 + 2 + 65535
	// Window is how many bytes of a connection have to be shown to Name at most:
	// the message in as many as 64 records.
	Window = 4 + Most + 64*recordHead

	recordHead = 5
	recordMost = 16 << 10
	handshake  = 22 // type of a record (RFC 8446, section 5.1)
	clientHi   = 1  // type of a message (section 4)
	serverName = 0  // number of the extension, and type of a name in it
)

var (
	// ErrNoTLS means that the connection does not begin like one of TLS.
	ErrNoTLS = errors.New("not TLS")
	// ErrMalformed means that it does, but no right ClientHello follows.
	ErrMalformed = errors.New("malformed ClientHello")
	// ErrLong means that the ClientHello has more than Most bytes, or came in too
	// many pieces.
	ErrLong = errors.New("ClientHello too long")
)

// Name reads the name from b, all that has come of a connection so far; space
// is for a message that came in several records and grows. As long as done is
// false, and the error nil, there has to be more. A client that asks for no name
// has an empty one. The name points into b or space and is as the client wrote
// it.
func Name(b []byte, space *[]byte) (name []byte, done bool, err error) {
	short := len(b) < Window
	*space = (*space)[:0]
	var message []byte
	for first := true; ; first = false {
		if len(b) == 0 {
			return nil, false, more(short)
		}
		if b[0] != handshake {
			return nil, false, not(first)
		}
		if len(b) < recordHead {
			return nil, false, more(short)
		}
		if b[1] >= 0x10 { // as crypto/tls: no version is that high, so this is something else
			return nil, false, not(first)
		}
		n := int(binary.BigEndian.Uint16(b[3:]))
		if n == 0 || n > recordMost {
			return nil, false, ErrMalformed
		}
		part := b[recordHead:min(recordHead+n, len(b))]
		if first {
			message = part
		} else {
			if len(*space) == 0 { // the second record: the first has to move
				*space = append(*space, message...)
			}
			*space = append(*space, part...)
			message = *space
		}
		body, whole, err := cut(message)
		switch {
		case err != nil:
			return nil, false, err
		case whole:
			return read(body)
		case len(b) < recordHead+n:
			return nil, false, more(short)
		}
		b = b[recordHead+n:]
	}
}

// Needs tells how many bytes there have to be before Name can find more in them
// than in b, of which it wanted more: the whole of a record, or its head.
func Needs(b []byte) int {
	at := 0
	for {
		if len(b)-at < recordHead {
			return min(at+recordHead, Window)
		}
		at += recordHead + int(binary.BigEndian.Uint16(b[at+3:]))
		if at > len(b) {
			return min(at, Window)
		}
	}
}

func more(short bool) error {
	if short {
		return nil
	}
	return ErrLong
}

func not(first bool) error {
	if first {
		return ErrNoTLS
	}
	return ErrMalformed
}

// cut takes the frame off a message, of which b may be a part.
func cut(b []byte) (body []byte, whole bool, err error) {
	if len(b) > 0 && b[0] != clientHi {
		return nil, false, ErrMalformed
	}
	if len(b) < 4 {
		return nil, false, nil
	}
	n := int(b[1])<<16 | int(b[2])<<8 | int(b[3])
	if n > Most {
		return nil, false, ErrLong
	}
	if len(b) < 4+n {
		return nil, false, nil
	}
	return b[4 : 4+n], true, nil
}

// read finds the name in the body of a ClientHello (RFC 8446, section 4.1.2):
//
//	version 2, random 32, session id <1>, cipher suites <2>, compression <1>,
//	extensions <2>, which may be missing before TLS 1.3
func read(body []byte) (name []byte, done bool, err error) {
	s := text(body)
	ok := s.skip(34) && s.skipList(1)
	suites, okSuites := s.list(2)
	ok = ok && okSuites && len(suites)%2 == 0 && s.skipList(1)
	if !ok {
		return nil, false, ErrMalformed
	}
	if len(s) == 0 {
		return nil, true, nil
	}
	extensions, ok := s.list(2)
	if !ok || len(s) != 0 {
		return nil, false, ErrMalformed
	}
	name, ok = find(extensions)
	if !ok {
		return nil, false, ErrMalformed
	}
	return name, true, nil
}

// find goes through all extensions: none may come twice.
func find(extensions text) (name []byte, ok bool) {
	var seen [1 << 16 / 64]uint64
	for len(extensions) > 0 {
		kind, ok := extensions.number(2)
		if !ok || seen[kind/64]>>(kind%64)&1 != 0 {
			return nil, false
		}
		seen[kind/64] |= 1 << (kind % 64)
		data, ok := extensions.list(2)
		if !ok {
			return nil, false
		}
		if kind == serverName {
			if name, ok = names(data); !ok {
				return nil, false
			}
		}
	}
	return name, true
}

// names takes the one host name of the extension. A name with a dot at its end
// is refused, as the RFC has it.
func names(data text) (name []byte, ok bool) {
	list, ok := data.list(2)
	if !ok || len(list) == 0 || len(data) != 0 {
		return nil, false
	}
	for len(list) > 0 {
		kind, ok := list.number(1)
		if !ok {
			return nil, false
		}
		one, ok := list.list(2)
		if !ok || len(one) == 0 {
			return nil, false
		}
		if kind != serverName {
			continue
		}
		if name != nil || one[len(one)-1] == '.' {
			return nil, false
		}
		name = one
	}
	return name, true
}
