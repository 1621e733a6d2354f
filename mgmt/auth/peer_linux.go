package auth

import (
	"fmt"
	"net"

	"github.com/sluicelb/sluice/core/shm"
)

// peerUID asks the kernel which user opened the other end.
func peerUID(c *net.UnixConn) (uint32, error) {
	uid, _, err := shm.PeerUID(c)
	if err != nil {
		return 0, fmt.Errorf("credentials of a local client: %w", err)
	}
	return uid, nil
}
