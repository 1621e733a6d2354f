package mongo

import (
	"bytes"
	"testing"
)

func FuzzReadHello(f *testing.F) {
	f.Add(question()[headBytes+5:])
	f.Add([]byte("\x05\x00\x00\x00\x00"))
	f.Add([]byte("\x00\x00\x00\x00\x10")) // a length less than the size of the length
	f.Add([]byte("\x04\x00\x00\x00\x00"))
	f.Add([]byte("\x0e\x00\x00\x00\x01ok\x00\x00\x00\x00\x00\x00\x00\xf0?\x00"))
	f.Add([]byte("\x10\x00\x00\x00\x03a\x00\x08\x00\x00\x00\x0ab\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		h, err := readHello(doc)
		_ = h.judge("any")
		if h.ok && err == nil && !bytes.Contains(doc, []byte("ok\x00")) {
			t.Error("ok without a field ok")
		}
	})
}
