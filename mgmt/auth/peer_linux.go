package auth

import (
	"fmt"
	"net"

	"github.com/sluicelb/sluice/core/shm"
)

// peerUID returns the user who opened the other end, as reported by the kernel.
func peerUID(c *net.UnixConn) (uint32, error) {
	uid, _, err := shm.PeerUID(c)
	if err != nil {
		return 0, fmt.Errorf("credentials of a local client: %w", err)
	}
	return uid, nil
}
