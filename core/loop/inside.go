package loop

import (
	"bytes"
	"crypto/tls"
	"reflect"
	"unsafe"
)

// crypto/tls keeps what it reads in two buffers of its own that grow to the
// largest record ever seen and are never let go: 17 KiB and more for each
// connection that waits, and for each connection to a backend. Nothing in its
// API gives them back, so they are reached by their names: before a read the
// record buffer is one the loop lends, after it is empty again.
//
// That changes no state of the protocol: a bytes.Buffer is replaced by another
// with the same unread bytes while no call is under way. A Go release that
// names or types the fields otherwise turns it off; connections then work as
// before and weigh more. TestInside says so.
var inside = struct {
	found            bool
	raw, hand, input uintptr
}{}

func init() {
	t := reflect.TypeFor[tls.Conn]()
	raw, ok1 := t.FieldByName("rawInput") // ciphertext, from a record's header on
	hand, ok2 := t.FieldByName("hand")    // handshake messages not complete yet
	input, ok3 := t.FieldByName("input")  // plaintext not read yet, it lies in rawInput
	buffer := reflect.TypeFor[bytes.Buffer]()
	if ok1 && ok2 && ok3 && raw.Type == buffer && hand.Type == buffer && input.Type == reflect.TypeFor[bytes.Reader]() {
		inside.found = true
		inside.raw, inside.hand, inside.input = raw.Offset, hand.Offset, input.Offset
	}
}

func rawOf(t *tls.Conn) *bytes.Buffer {
	return (*bytes.Buffer)(unsafe.Add(unsafe.Pointer(t), inside.raw))
}

func handOf(t *tls.Conn) *bytes.Buffer {
	return (*bytes.Buffer)(unsafe.Add(unsafe.Pointer(t), inside.hand))
}

func inputOf(t *tls.Conn) *bytes.Reader {
	return (*bytes.Reader)(unsafe.Add(unsafe.Pointer(t), inside.input))
}
