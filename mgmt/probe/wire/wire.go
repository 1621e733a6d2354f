// Package wire makes the connections of checks: over when the check is, and bounded in
// what they read.
//
// A server that is ill answers anything: nothing, one byte a minute, bytes without end.
// A Conn ends with the context it was opened with, whoever reads from it, and gives an
// error once it has read what a healthy server never sends.
package wire

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/mgmt/probe"
)

// ErrTooMuch: the server sent more than a check takes.
var ErrTooMuch = errors.New("the server sends more than a check takes")

// Most is how much a conversation reads, in bytes, unless its check says otherwise.
const Most = 64 << 10

// Conn is a connection of one check.
type Conn struct {
	net.Conn
	ctx    context.Context // of the check, which is told what is heard
	muted  atomic.Bool     // what is heard is ciphertext
	left   int
	unhook func() bool
}

// Open connects, which is a step of its own. most is how many bytes may be read from it, in all.
func Open(ctx context.Context, n probe.Network, network, address string, most int) (*Conn, error) {
	probe.Step(ctx, "connect")
	c, err := n.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return Bound(ctx, c, most), nil
}

// Bound bounds a connection there is already, which it owns from then on.
func Bound(ctx context.Context, c net.Conn, most int) *Conn {
	return &Conn{Conn: c, ctx: ctx, left: most, unhook: context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })}
}

// Read reads, up to what is left of the bound.
func (c *Conn) Read(b []byte) (int, error) {
	if c.left <= 0 {
		return 0, ErrTooMuch
	}
	n, err := c.Conn.Read(b[:min(len(b), c.left)])
	c.left -= n
	if !c.muted.Load() {
		probe.Heard(c.ctx, b[:n])
	}
	return n, err
}

// Patience bounds how long the next reads wait, in place of what was set before. The end
// of ctx, which the connection was opened with, stays the last moment.
func (c *Conn) Patience(ctx context.Context, d time.Duration) {
	_ = c.Conn.SetReadDeadline(time.Now().Add(d))
	if ctx.Err() != nil { // it ended meanwhile, and its deadline was overwritten
		_ = c.Conn.SetDeadline(time.Unix(1, 0))
	}
}

// SetDeadline, SetReadDeadline and SetWriteDeadline do nothing: the end of the check is
// the deadline, and libraries must not move it.
func (c *Conn) SetDeadline(time.Time) error      { return nil }
func (c *Conn) SetReadDeadline(time.Time) error  { return nil }
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }

// Close closes the connection.
func (c *Conn) Close() error {
	c.unhook()
	return c.Conn.Close()
}
