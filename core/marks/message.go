package marks

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Both messages have this shape, numbers in big-endian order:
//
//	0   "SLM1"
//	4   number of the request (32 bit), repeated in its answer
//	8   mark (32 bit), never 0
//	12  IP version: 4 or 6
//	13  kind of socket: 0 is a TCP one, 1 a UDP one
//	14  request: flags, none yet, 0; answer: its Code
//	15  request: sockets wanted, 1 … MaxCount; answer: sockets attached
const (
	magic = "SLM1"
	// MessageSize is the length of every message in bytes.
	MessageSize = 16
	// MaxCount is the highest number of sockets in one answer.
	MaxCount = 64
)

// ErrMessage means that bytes are no message of this contract.
var ErrMessage = errors.New("not a message about marked sockets")

// Transparent is the number, among marks, of sockets that have none but may
// have any source address (IP_TRANSPARENT): for backends that are to see the
// client's.
const Transparent uint32 = 0x5d00_0000

// FirstOwn … LastOwn are the marks by which packets, connections and sockets of
// farms are told apart within the machine: nobody else's sockets have one.
const (
	FirstOwn uint32 = 0x5c00_0000
	LastOwn  uint32 = 0x5dff_ffff
)

// Own reports whether a mark is one of these.
func Own(mark uint32) bool { return mark >= FirstOwn && mark <= LastOwn }

// Kind is what sockets are made for.
type Kind struct {
	// Mark is not 0; it may be Transparent.
	Mark uint32
	// V6 is for connections to IPv6 addresses.
	V6 bool
	// UDP is for datagrams.
	UDP bool
}

// String is how logs and errors name the kind.
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

// Answer says what became of a request; the sockets are attached.
type Answer struct {
	Number uint32
	Kind   Kind
	Code   Code
	// Count is 0 unless Code is Made.
	Count int
}

// Code is the outcome of a request.
type Code uint8

// The outcomes.
const (
	Made         Code = iota
	NotPermitted      // netd lacks CAP_NET_ADMIN
	NoFamily          // the machine has no such IP version
	TooMany           // a limit of descriptors is reached
	Failed
	Unneeded // no farm in force needs sockets of the kind
	codes    // how many there are
)

// AppendTo appends the message to dst.
func (r Request) AppendTo(dst []byte) []byte { return appendMessage(dst, r.Number, r.Kind, 0, r.Count) }

// AppendTo appends the message to dst.
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

// ParseRequest reads a request. Every error is ErrMessage; one for a mark that is
// Own, Transparent excepted, is no request.
func ParseRequest(b []byte) (Request, error) {
	number, kind, flags, count, ok := parse(b)
	if !ok || flags != 0 || count < 1 || Own(kind.Mark) && kind.Mark != Transparent {
		return Request{}, ErrMessage
	}
	return Request{number, kind, count}, nil
}

// ParseAnswer reads an answer. Every error is ErrMessage.
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
