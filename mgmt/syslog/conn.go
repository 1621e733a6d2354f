package syslog

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
	"time"
)

const (
	// dialTime bounds a connect and the resolving before it, writeTime a write.
	dialTime  = 2 * time.Second
	writeTime = 2 * time.Second
	// A target that cannot be reached is tried again after firstPause, then
	// after twice as long each time, up to longestPause.
	firstPause   = 100 * time.Millisecond
	longestPause = 30 * time.Second
	// renewTime is how long datagrams go where a name led to.
	renewTime = 5 * time.Minute
	// maxPacket is the longest datagram of UDP over IPv4.
	maxPacket = 65_507
	// mostSaid is how many bytes a server may say on a stream: tickets of TLS.
	mostSaid = 64 << 10
	// noticeTime is how long is waited for who watches a stream, when something has come.
	noticeTime = 50 * time.Millisecond
)

// ErrPaused says that a target is left alone for a while after it failed.
var ErrPaused = errors.New("the syslog target did not take lines a moment ago and is left alone for a while")

// Conn is the way to one server. It connects when it is needed, and after a failure
// not before a pause is over. It belongs to one goroutine.
type Conn struct {
	target Target
	conn   net.Conn
	stream *stream // nil: datagrams
	batch  []byte  // what a stream gets in one write
	since  time.Time
	pause  time.Duration
	next   time.Time // no earlier is another connect tried
	now    func() time.Time
	lost   bool // the last connection ended by itself
	again  uint64
}

// NewConn returns the way to a server, without going it. now may be nil.
func NewConn(t Target, now func() time.Time) *Conn {
	if now == nil {
		now = time.Now
	}
	return &Conn{target: t, now: now}
}

// Next is when the server may be tried again after ErrPaused.
func (c *Conn) Next() time.Time { return c.next }

// Reconnects is how often there had to be another connection because one failed or was
// ended by the server.
func (c *Conn) Reconnects() uint64 { return c.again }

// Begin connects unless it is, and begins a batch. Errors: ErrPaused.
func (c *Conn) Begin() error {
	c.batch = c.batch[:0]
	switch {
	case c.conn == nil:
	case c.stream != nil && c.stream.over():
		c.lost = true
		c.Close()
	case c.stream == nil && c.target.named() && c.now().Sub(c.since) >= renewTime:
		c.Close()
	}
	if c.conn == nil {
		if err := c.connect(); err != nil {
			return err
		}
	}
	return c.failed(c.conn.SetWriteDeadline(time.Now().Add(writeTime)))
}

// Add sends a message in two parts, as a datagram now, over a stream with End.
func (c *Conn) Add(head, text []byte) error {
	if c.stream != nil {
		c.batch = append(strconv.AppendInt(c.batch, int64(len(head)+len(text)), 10), ' ')
		c.batch = append(append(c.batch, head...), text...)
		return nil
	}
	c.batch = append(append(c.batch[:0], head...), text...)
	if c.target.Protocol == UDP {
		c.batch = c.batch[:min(len(c.batch), maxPacket)]
	}
	_, err := c.conn.Write(c.batch)
	return c.failed(err)
}

// End sends what was added. A failure means that nobody knows how much of the batch came.
func (c *Conn) End() error {
	if c.stream != nil {
		if _, err := c.conn.Write(c.batch); err != nil {
			return c.failed(err)
		}
	}
	c.pause = 0
	return nil
}

// failed is what becomes of the connection after an error.
func (c *Conn) failed(err error) error {
	if err == nil {
		return nil
	}
	c.lost = true
	c.Close()
	c.backOff()
	return fmt.Errorf("send to syslog: %w", err)
}

func (c *Conn) connect() error {
	if c.now().Before(c.next) {
		return ErrPaused
	}
	var all error
	for _, network := range c.target.networks() {
		err := c.dial(network)
		if err == nil {
			if c.since = c.now(); c.lost {
				c.lost, c.again = false, c.again+1
			}
			return nil
		}
		all = errors.Join(all, err)
	}
	c.backOff()
	return fmt.Errorf("connect to syslog: %w", all)
}

// dial connects, looking a name up anew.
func (c *Conn) dial(network string) error {
	ctx, cancel := context.WithTimeout(context.Background(), dialTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, network, c.target.Address)
	if err != nil {
		return err
	}
	below := conn
	if c.target.Protocol == TLS {
		if conn, err = c.secured(ctx, conn); err != nil {
			_ = below.Close()
			return fmt.Errorf("TLS with %s: %w", c.target.Address, err)
		}
	}
	c.conn, c.stream = conn, nil
	if network == "tcp" || network == "unix" {
		c.stream = watch(conn, below)
	}
	return nil
}

func (c *Conn) secured(ctx context.Context, conn net.Conn) (net.Conn, error) {
	config, err := c.target.config()
	if err != nil {
		return nil, err
	}
	secure := tls.Client(conn, config)
	return secure, secure.HandshakeContext(ctx)
}

// stream is what watches a connection for its end.
type stream struct {
	raw   syscall.RawConn
	ended chan struct{}
}

// watch notices that a server has ended the stream: what is written then is lost
// without an error. A server that says more than belongs to TLS is none. conn speaks TLS
// on below, or is that.
func watch(conn, below net.Conn) *stream {
	s := &stream{ended: make(chan struct{})}
	if c, ok := below.(syscall.Conn); ok {
		s.raw, _ = c.SyscallConn()
	}
	go func() {
		defer close(s.ended)
		_, _ = io.Copy(io.Discard, io.LimitReader(conn, mostSaid))
	}()
	return s
}

// over reports whether the stream has ended by what has come so far: who watches may
// not have had its turn yet.
func (s *stream) over() bool {
	wait := time.Duration(0)
	if s.raw != nil {
		_ = s.raw.Control(func(fd uintptr) {
			var one [1]byte
			n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			if n > 0 || err != syscall.EAGAIN {
				wait = noticeTime
			}
		})
	}
	if wait == 0 {
		select {
		case <-s.ended:
			return true
		default:
			return false
		}
	}
	select {
	case <-s.ended:
		return true
	case <-time.After(wait):
		return false
	}
}

// backOff keeps the next connect away for a while: not everyone's the same.
func (c *Conn) backOff() {
	c.pause = min(max(2*c.pause, firstPause), longestPause)
	c.next = c.now().Add(c.pause/2 + rand.N(c.pause))
}

// Close ends the connection; the next Begin makes another.
func (c *Conn) Close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}
