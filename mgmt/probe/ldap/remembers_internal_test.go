package ldap

import (
	"errors"
	"io"
	"net"
	"testing"
)

// failing is a connection whose reads return these errors, one after the other.
type failing struct {
	net.Conn
	errs []error
}

func (f *failing) Read([]byte) (int, error) {
	err := f.errs[0]
	f.errs = f.errs[1:]
	return 0, err
}

func TestCauseIsTheFirstReadError(t *testing.T) {
	strange, refused := errors.New("no LDAP message"), errors.New("the directory answered 49")
	for name, c := range map[string]struct {
		reads     []error
		err, want error
	}{
		"its consequence":           {[]error{strange, io.ErrClosedPipe}, io.EOF, strange},
		"an end":                    {[]error{io.EOF}, io.EOF, io.EOF},
		"an end before any read":    {nil, io.EOF, io.EOF},
		"another failure":           {[]error{strange}, refused, refused},
		"none, the end comes later": {[]error{io.EOF}, nil, nil},
	} {
		r := &remembers{Conn: &failing{errs: c.reads}}
		for range c.reads {
			_, _ = r.Read(nil)
		}
		if got := r.cause(c.err); !errors.Is(got, c.want) && (got == nil || c.want == nil || got.Error() != c.want.Error()) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
