package certs

import "testing"

func TestPanicOfTheParserIsAnErrorOfTheFile(t *testing.T) {
	o := contained(func() ([]byte, error) { panic("index out of range") })
	if _, is := o.err.(*Error); !is || o.pem != nil {
		t.Errorf("got %q, %v", o.pem, o.err)
	}
}
