// Package wire makes the connections of checks. They end with the check, and limit how much
// the check reads.
//
// A broken server may do anything: stay silent, send one byte a minute, or send endless data.
// A Conn ends with the context it was opened with, even during a read of a library. It
// returns an error after more bytes than a healthy server ever sends.
package wire

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/mgmt/probe"
)

// ErrTooMuch: the server sent more than a check reads.
var ErrTooMuch = errors.New("the server sends more than a check takes")

// Most is how many bytes a conversation reads, unless its check says otherwise.
const Most = 64 << 10

// Conn is a connection of one check.
type Conn struct {
	net.Conn
	ctx    context.Context // of the check, which records received bytes
	muted  atomic.Bool     // the received bytes are ciphertext
	left   int
	unhook func() bool
}

// Open connects, which is a step of its own. most is how many bytes may be read from it, in
// all.
func Open(ctx context.Context, n probe.Network, network, address string, most int) (*Conn, error) {
	probe.Step(ctx, "connect")
	c, err := n.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return Bound(ctx, c, most), nil
}

// Bound limits an existing connection and takes over its ownership.
func Bound(ctx context.Context, c net.Conn, most int) *Conn {
	return &Conn{Conn: c, ctx: ctx, left: most, unhook: context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })}
}

// Read reads up to the rest of the limit.
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

// Patience limits how long the next reads wait and replaces the previous limit. The end of
// ctx, the context of the connection, remains the latest time.
func (c *Conn) Patience(ctx context.Context, d time.Duration) {
	_ = c.Conn.SetReadDeadline(time.Now().Add(d))
	if ctx.Err() != nil { // it ended meanwhile, and its deadline was overwritten
		_ = c.Conn.SetDeadline(time.Unix(1, 0))
	}
}

// SetDeadline, SetReadDeadline and SetWriteDeadline do nothing: the end of the check is the
// deadline, and libraries must not move it.
func (c *Conn) SetDeadline(time.Time) error      { return nil }
func (c *Conn) SetReadDeadline(time.Time) error  { return nil }
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }

// Close closes the connection.
func (c *Conn) Close() error {
	c.unhook()
	return c.Conn.Close()
}
