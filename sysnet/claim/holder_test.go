package claim_test

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/sysnet/claim"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// listenAs listens on the name of a slot as another user.
func listenAs(t *testing.T, user int, slot claim.Slot) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	become := func(user int) {
		keep := ^uintptr(0)
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, keep, uintptr(user), keep); errno != 0 { // this thread alone
			t.Fatal(errno)
		}
	}
	own := os.Geteuid()
	become(user)
	l, err := net.Listen("unix", "@sluice/slot/"+slot.String())
	become(own)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
}

func TestAnOrdinaryUserHoldsNoSlot(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	c, err := claim.Take([]claim.Slot{2})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	listenAs(t, 65534, 1)
	list := claim.Holders()
	if len(list) != 1 || list[0].Slot != 2 || list[0].Command == "" || !strings.Contains(list[0].String(), list[0].Command) {
		t.Errorf("held by %+v", list)
	}
	if c, err := claim.Take([]claim.Slot{1, 3}); err != nil || c.Slot != 3 {
		t.Errorf("a claimed name: %+v, %v", c, err)
	} else {
		c.Close()
	}
}

// A connection that queries the holder of a slot is closed at once.
func TestHolderQueriesAreClosedAtOnce(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	c, err := claim.Take([]claim.Slot{0})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", "@sluice/slot/0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("%v, want the end", err)
	}
	c.Close()
	if list := claim.Holders(); len(list) != 0 {
		t.Errorf("released, but held by %v", list)
	}
	var nobody *claim.Claim
	nobody.Close()
}
