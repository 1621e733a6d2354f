package ctl

import (
	"errors"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Incoming traffic on the engine's sockets must not wake netd.
func TestSocketsAreNotPolled(t *testing.T) {
	for _, network := range []string{"tcp", "udp"} {
		f, err := endpoint{network: network, addr: netip.MustParseAddrPort("127.0.0.1:0")}.listen()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := f.SetDeadline(time.Now()); !errors.Is(err, os.ErrNoDeadline) {
			t.Errorf("%s: the runtime watches the socket (%v)", network, err)
		}
		flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
		if err != nil || flags&unix.O_NONBLOCK == 0 {
			t.Errorf("%s: the socket blocks (%v)", network, err)
		}
	}
}
