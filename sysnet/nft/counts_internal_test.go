package nft

import (
	"errors"
	"testing"
)

func TestADumpIsRepeatedWhileItIsInterrupted(t *testing.T) {
	other := errors.New("no memory")
	for _, c := range []struct {
		ends  []error // of the attempts
		want  error
		tries int
	}{
		{[]error{nil}, nil, 1}, {[]error{other}, other, 1}, {[]error{ErrChanging, ErrChanging, nil}, nil, 3}, {[]error{ErrChanging, other}, other, 2},
		{[]error{ErrChanging, ErrChanging, ErrChanging, ErrChanging, ErrChanging, nil}, ErrChanging, 5},
	} {
		tries := 0
		if err := again(func() error { tries++; return c.ends[tries-1] }); err != c.want || tries != c.tries {
			t.Errorf("%v: %v after %d attempts", c.ends, err, tries)
		}
	}
}
