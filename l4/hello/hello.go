package hello

import (
	"encoding/binary"
	"errors"
)

const (
	// Most is the length of the longest valid ClientHello, in bytes: each list has the
	// maximum of its length field (RFC 8446, section 4.1.2). Browsers send about 2,000.
	Most = 2 + 32 + 1 + 32 + 2 + 65534 + 1 + 255 + 2 + 65535
	// Window is the maximum number of bytes that Name needs: the longest message in 64
	// records.
	Window = 4 + Most + 64*recordHead

	recordHead = 5
	recordMost = 16 << 10
	handshake  = 22 // type of a record (RFC 8446, section 5.1)
	clientHi   = 1  // type of a message (section 4)
	serverName = 0  // number of the extension, and type of a name in it
)

var (
	// ErrNoTLS means that the first byte is not that of a TLS handshake record.
	ErrNoTLS = errors.New("not TLS")
	// ErrMalformed means that a handshake record has no valid ClientHello.
	ErrMalformed = errors.New("malformed ClientHello")
	// ErrLong means that the ClientHello has more than Most bytes or too many records.
	ErrLong = errors.New("ClientHello too long")
)

// Name returns the host name in b, which holds all bytes of a connection so far. Without an
// error, done is false while the ClientHello is incomplete. The name is empty if the client
// sends none. It has the case of the client. A final dot, which some clients send against the
// RFC, is removed. It shares the memory of b, or of space, which grows to hold a message of
// several records. Errors: ErrNoTLS, ErrMalformed, ErrLong.
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
		if b[1] >= 0x10 { // crypto/tls does the same: TLS has no such version
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
			if len(*space) == 0 { // the second record
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

// Needs returns the number of bytes with which another call of Name is worthwhile after
// it found b incomplete: the end of a record, or of its header.
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

// cut returns the body of a handshake message. whole is false if b lacks a part of it.
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

// read returns the name in the body of a ClientHello (RFC 8446, section 4.1.2). A number
// is a field's size in bytes, <n> a list behind a length of n bytes:
//
//	version 2, random 32, session ID <1>, cipher suites <2>, compression <1>,
//	extensions <2>, optional before TLS 1.3
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

// find returns the name in the extensions. A repeated extension is an error.
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

// names returns the only host name of the extension, without a final dot.
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
		if one[len(one)-1] == '.' {
			one = one[:len(one)-1]
		}
		if name != nil || len(one) == 0 {
			return nil, false
		}
		name = one
	}
	return name, true
}
