package loop_test

import (
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
)

// An eighth of the descriptors is for backends, however long clients keep
// coming.
func TestWaitingClientsDoNotUseUpTheReserve(t *testing.T) {
	if os.Getenv("LOOP_FEW_DESCRIPTORS") == "" {
		rerun(t, "LOOP_FEW_DESCRIPTORS=1")
		return
	}
	const most, kept = 160, 20
	limit := syscall.Rlimit{Cur: most, Max: most}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	l := start(t)
	addr := serve(t, l, func(c *loop.Conn) { c.SetHandler(echo(l)) })
	used := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(files) - 1
	}
	var held []net.Conn
	for used() < most-kept { // both ends are ours
		held = append(held, dial(t, addr))
		time.Sleep(2 * time.Millisecond)
	}
	for range 5 {
		held = append(held, dial(t, addr))
	}
	before := used()
	time.Sleep(500 * time.Millisecond) // ten pauses of accepting
	if after := used(); after > before+1 {
		t.Errorf("%d descriptors in use, %d half a second later: the reserve is used up", before, after)
	}
	waits := held[len(held)-1]
	for _, c := range held[:20] {
		_ = c.Close()
	}
	if _, err := waits.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := waits.Read(make([]byte, 1)); err != nil {
		t.Errorf("the client that waited is not served: %v", err)
	}
}
