package loop_test

import (
	"net"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
)

// An eighth of the descriptors is reserved for backends, even if clients keep arriving.
func TestWaitingClientsDoNotUseUpTheReserve(t *testing.T) {
	const most, kept = 160, 20
	if !inFew(t, most) {
		return
	}
	l := start(t)
	addr := serve(t, l, func(c *loop.Conn) { c.SetHandler(echo(l)) })
	var held []net.Conn
	for usedDescriptors(t) < most-kept { // both ends are in this process
		held = append(held, dial(t, addr))
		time.Sleep(2 * time.Millisecond)
	}
	for range 5 {
		held = append(held, dial(t, addr))
	}
	before := usedDescriptors(t)
	time.Sleep(500 * time.Millisecond) // ten accept pauses
	if after := usedDescriptors(t); after > before+1 {
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
