package probe

import (
	"context"
	"net"
	"sync"
	"time"
)

// noted is a network that remembers how the last connection attempt ended. A library whose
// context ends may report only a timeout, even if the attempt failed for a reason of this
// machine, e.g. a name server that does not answer.
type noted struct {
	Network
	mu   sync.Mutex
	last *attempt
}

// attempt is one connection attempt. err is set when over is closed.
type attempt struct {
	over chan struct{}
	err  error
}

// DialContext implements Network.
func (n *noted) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	a := n.begin()
	c, err := n.Network.DialContext(ctx, network, address)
	a.end(err)
	return c, err
}

// ListenPacket implements Network.
func (n *noted) ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error) {
	a := n.begin()
	c, err := n.Network.ListenPacket(ctx, network, address)
	a.end(err)
	return c, err
}

func (n *noted) begin() *attempt {
	a := &attempt{over: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = a
	return a
}

func (a *attempt) end(err error) {
	a.err = err
	close(a.over)
}

// settling is how long an attempt may take to end after the check has timed out.
const settling = 100 * time.Millisecond

// failure returns the error of the last attempt, nil if it succeeded. It is called after
// the check has timed out, which also ends attempts in progress.
func (n *noted) failure() error {
	n.mu.Lock()
	a := n.last
	n.mu.Unlock()
	if a == nil {
		return nil
	}
	limit := time.NewTimer(settling)
	defer limit.Stop()
	select {
	case <-a.over:
		return a.err
	case <-limit.C:
		return nil
	}
}
