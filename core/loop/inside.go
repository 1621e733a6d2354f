package loop

import (
	"bytes"
	"crypto/tls"
	"reflect"
	"unsafe"
)

// crypto/tls reads into two internal buffers that grow to the largest record received
// and are never released. They cost at least 17 KiB for each idle client connection and
// each backend connection. The API has no way to release them, so reflection finds the
// fields by name. The loop lends a record buffer before each read and takes it back
// afterwards.
//
// The protocol state does not change: between calls, a bytes.Buffer is replaced by
// another one with the same unread bytes. If a Go release renames or retypes the
// fields, the optimisation is off: connections still work, but use more memory.
// TestInside detects that.
var inside = struct {
	found            bool
	raw, hand, input uintptr
}{}

func init() {
	t := reflect.TypeFor[tls.Conn]()
	raw, ok1 := t.FieldByName("rawInput") // ciphertext, starting with a record header
	hand, ok2 := t.FieldByName("hand")    // incomplete handshake messages
	input, ok3 := t.FieldByName("input")  // unread plaintext, which lies in rawInput
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
