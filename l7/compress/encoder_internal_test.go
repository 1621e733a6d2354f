package compress

import (
	"errors"
	"io"
	"testing"
)

// mistaken is a library that fails or panics.
type mistaken struct {
	err   error
	panic bool
}

func (m *mistaken) Write(p []byte) (int, error) { return len(p), m.fails() }
func (m *mistaken) Flush() error                { return m.fails() }
func (m *mistaken) Close() error                { return m.fails() }
func (m *mistaken) Reset(io.Writer)             {}

func (m *mistaken) fails() error {
	if m.panic {
		panic("mistake")
	}
	return m.err
}

func TestLibraryErrorIsReturned(t *testing.T) {
	why := errors.New("mistake")
	e := &Encoder{library: &mistaken{err: why}, coding: Gzip}
	for name, call := range map[string]func() ([]byte, error){
		"write": func() ([]byte, error) { return e.Write([]byte("x"), []byte("y")) },
		"flush": func() ([]byte, error) { e.dirty = true; return e.Flush([]byte("x")) },
		"close": func() ([]byte, error) { return e.Close([]byte("x")) },
	} {
		if out, err := call(); err != why || string(out) != "x" {
			t.Errorf("%s gives %q, %v", name, out, err)
		}
	}
}

// An encoder whose library panicked is not reused.
func TestPanickedEncoderIsNotReused(t *testing.T) {
	for _, call := range []func(e *Encoder){
		func(e *Encoder) { _, _ = e.Write(nil, []byte("x")) },
		func(e *Encoder) { e.dirty = true; _, _ = e.Flush(nil) },
		func(e *Encoder) { _, _ = e.Close(nil) },
	} {
		var p Pool
		e := p.Get(Gzip, Fast)
		e.library = &mistaken{panic: true}
		func() {
			defer func() { _ = recover() }()
			call(e)
		}()
		if p.Put(e); p.Memory() != 0 {
			t.Errorf("%d bytes are kept", p.Memory())
		}
	}
}
