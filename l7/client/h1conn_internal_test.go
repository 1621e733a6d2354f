package client

import (
	"testing"
	"unsafe"
)

// A waiting client costs this struct and a loop.Conn. The allocator's next size is 160
// bytes, so another field would cost all clients of a busy appliance.
func TestWaitingClientsUseLittleMemory(t *testing.T) {
	if size := unsafe.Sizeof(h1Conn{}); size > 144 {
		t.Errorf("a connection of HTTP/1 takes %d bytes, want 144 at most", size)
	}
}
