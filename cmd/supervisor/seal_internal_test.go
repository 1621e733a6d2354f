package supervisor

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestSealedDescriptorsAreNotInherited(t *testing.T) {
	for name, mark := range map[string]func() error{"at once": seal, "one by one": sealEach} {
		var ends [2]int
		if err := unix.Pipe2(ends[:], 0); err != nil {
			t.Fatal(err)
		}
		if err := mark(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, fd := range ends {
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("%s: flags %#x, %v", name, flags, err)
			}
			_ = unix.Close(fd)
		}
		if flags, err := unix.FcntlInt(2, unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC != 0 {
			t.Errorf("%s: standard error has flags %#x, %v", name, flags, err)
		}
	}
}
