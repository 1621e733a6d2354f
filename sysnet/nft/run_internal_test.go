package nft

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// os/exec copies with io.Copy, which may bypass Write.
func TestProgramOutputIsBounded(t *testing.T) {
	printed := func() io.Reader { return io.LimitReader(strings.NewReader("0123456789"), 10) }
	for _, cut := range []bool{true, false} {
		b := &bounded{limit: 4, cut: cut}
		_, err := io.Copy(b, printed())
		if got := b.kept.String(); got != "0123" || cut != (err == nil) || !cut && !errors.Is(err, errLong) {
			t.Errorf("cut %t: kept %q, %v", cut, got, err)
		}
	}
	b := &bounded{limit: 10}
	if _, err := io.Copy(b, printed()); err != nil || b.kept.String() != "0123456789" {
		t.Errorf("output within the limit: got %q, %v, want %q", b.kept.String(), err, "0123456789")
	}
}
