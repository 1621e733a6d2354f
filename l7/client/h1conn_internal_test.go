package client

import (
	"testing"
	"unsafe"
)

// What waits for a request is this and a loop.Conn. The next size the allocator has
// is 160: all of a busy appliance's clients would pay for a field more.
func TestClientsThatWaitAreSmall(t *testing.T) {
	if size := unsafe.Sizeof(h1Conn{}); size > 144 {
		t.Errorf("a connection of HTTP/1 takes %d bytes, want 144 at most", size)
	}
}
