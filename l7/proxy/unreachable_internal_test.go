package proxy

import (
	"fmt"
	"os"
	"syscall"
	"testing"
)

// The same error says two things: the source address is not here, which is for
// all, or its ports are taken by clients, which is for now.
func TestOnlyASourceAddressThatIsNotHereSpeaksAgainstTheBackend(t *testing.T) {
	for _, c := range []struct {
		err               error
		bind, isOfMachine bool
	}{
		{os.NewSyscallError("bind", syscall.EADDRNOTAVAIL), true, true},
		{fmt.Errorf("more: %w", os.NewSyscallError("bind", syscall.EADDRNOTAVAIL)), true, true},
		{os.NewSyscallError("connect", syscall.EADDRNOTAVAIL), false, true},
		{os.NewSyscallError("bind", syscall.EACCES), false, false},
		{os.NewSyscallError("socket", syscall.EMFILE), false, true},
		{os.NewSyscallError("connect", syscall.ECONNREFUSED), false, false},
	} {
		if isBind(c.err) != c.bind || lacking(c.err) != c.isOfMachine {
			t.Errorf("%v: bind %t, of this machine %t", c.err, isBind(c.err), lacking(c.err))
		}
	}
}
