package marks

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Requests and answers have this layout, in big-endian order:
//
//	0   "SLM1"
//	4   number of the request (32 bit), repeated in its answer
//	8   mark (32 bit), not 0
//	12  IP version: 4 or 6
//	13  transport: 0 is TCP, 1 UDP
//	14  request: flags, 0 (none defined); answer: its Code
//	15  request: sockets wanted, 1 … MaxCount; answer: sockets attached
const (
	magic = "SLM1"
	// MessageSize is the length of every message in bytes.
	MessageSize = 16
	// MaxCount is the maximum number of sockets in one answer.
	MaxCount = 64
)

// ErrMessage means that bytes are not a valid message.
var ErrMessage = errors.New("not a message about marked sockets")

// Transparent is the pseudo-mark of sockets without a mark that may use any source
// address (IP_TRANSPARENT). They are for backends that must see the client's address.
const Transparent uint32 = 0x5d00_0000

// FirstOwn to LastOwn is the range of marks reserved for farms within this machine.
// Other sockets have none of them.
const (
	FirstOwn uint32 = 0x5c00_0000
	LastOwn  uint32 = 0x5dff_ffff
)

// Own reports whether mark is in the reserved range.
func Own(mark uint32) bool { return mark >= FirstOwn && mark <= LastOwn }

// Kind identifies a kind of sockets.
type Kind struct {
	// Mark is not 0; it may be Transparent.
	Mark uint32
	// V6 selects IPv6.
	V6 bool
	// UDP selects datagram sockets.
	UDP bool
}

// String returns the name of the kind in logs and errors.
func (k Kind) String() string {
	of := ""
	switch {
	case k.UDP && k.V6:
		of = " (UDP, IPv6)"
	case k.UDP:
		of = " (UDP)"
	case k.V6:
		of = " (IPv6)"
	}
	if k.Mark == Transparent {
		return "any source address" + of
	}
	return fmt.Sprintf("mark %d%s", k.Mark, of)
}

// Request asks for sockets.
type Request struct {
	Number uint32
	Kind   Kind
	// Count is 1 … MaxCount.
	Count int
}

// Answer is the response to a request. The sockets are attached.
type Answer struct {
	Number uint32
	Kind   Kind
	Code   Code
	// Count is 0 unless Code is Made.
	Count int
}

// Code is the outcome of a request.
type Code uint8

const (
	Made         Code = iota
	NotPermitted      // netd lacks CAP_NET_ADMIN
	NoFamily          // the machine does not support the IP version
	TooMany           // a limit of descriptors is reached
	Failed
	Unneeded // no active farm needs sockets of the kind
	codes    // number of codes
)

// AppendTo appends the encoded request to dst.
func (r Request) AppendTo(dst []byte) []byte { return appendMessage(dst, r.Number, r.Kind, 0, r.Count) }

// AppendTo appends the encoded answer to dst.
func (a Answer) AppendTo(dst []byte) []byte {
	return appendMessage(dst, a.Number, a.Kind, byte(a.Code), a.Count)
}

func appendMessage(dst []byte, number uint32, k Kind, code byte, count int) []byte {
	version, socket := byte(4), byte(0)
	if k.UDP {
		socket = 1
	}
	if k.V6 {
		version = 6
	}
	dst = append(dst, magic...)
	dst = binary.BigEndian.AppendUint32(dst, number)
	dst = binary.BigEndian.AppendUint32(dst, k.Mark)
	return append(dst, version, socket, code, byte(count))
}

// ParseRequest decodes a request. Its only error is ErrMessage. It rejects reserved
// marks (Own) except Transparent.
func ParseRequest(b []byte) (Request, error) {
	number, kind, flags, count, ok := parse(b)
	if !ok || flags != 0 || count < 1 || Own(kind.Mark) && kind.Mark != Transparent {
		return Request{}, ErrMessage
	}
	return Request{number, kind, count}, nil
}

// ParseAnswer decodes an answer. Its only error is ErrMessage.
func ParseAnswer(b []byte) (Answer, error) {
	number, kind, code, count, ok := parse(b)
	if !ok || code >= byte(codes) || (Code(code) == Made) != (count > 0) {
		return Answer{}, ErrMessage
	}
	return Answer{number, kind, Code(code), count}, nil
}

func parse(b []byte) (number uint32, k Kind, code byte, count int, ok bool) {
	if len(b) != MessageSize || string(b[:4]) != magic {
		return 0, Kind{}, 0, 0, false
	}
	number, k.Mark = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	k.V6, k.UDP, code, count = b[12] == 6, b[13] == 1, b[14], int(b[15])
	ok = k.Mark != 0 && (k.V6 || b[12] == 4) && b[13] <= 1 && count <= MaxCount
	return number, k, code, count, ok
}
