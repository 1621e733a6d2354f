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
	// dialTime bounds name resolution and connect, writeTime a write.
	dialTime  = 2 * time.Second
	writeTime = 2 * time.Second
	// firstPause is the pause after a failure to reach a target. It doubles each time, up
	// to longestPause.
	firstPause   = 100 * time.Millisecond
	longestPause = 30 * time.Second
	// renewTime is how long datagrams use a resolved address.
	renewTime = 5 * time.Minute
	// maxPacket is the longest datagram of UDP over IPv4.
	maxPacket = 65_507
	// mostSaid bounds the bytes that a server may send on a stream, e.g. TLS tickets.
	mostSaid = 64 << 10
	// noticeTime bounds the wait for the watcher of a stream after data has arrived.
	noticeTime = 50 * time.Millisecond
)

// ErrPaused means that a target is not used for a while after a failure.
var ErrPaused = errors.New("the syslog target did not take lines a moment ago and is left alone for a while")

// Conn is the connection to one server. It connects on demand, and after a failure only
// after a pause. It belongs to one goroutine.
type Conn struct {
	target Target
	conn   net.Conn
	stream *stream // nil: datagrams
	batch  []byte  // buffer of one write to a stream
	since  time.Time
	pause  time.Duration
	next   time.Time // earliest time of the next connect
	now    func() time.Time
	lost   bool // the last connection failed or was closed by the server
	again  uint64
}

// NewConn returns an unconnected Conn to a server. now may be nil.
func NewConn(t Target, now func() time.Time) *Conn {
	if now == nil {
		now = time.Now
	}
	return &Conn{target: t, now: now}
}

// Next returns when the server may be tried again after ErrPaused.
func (c *Conn) Next() time.Time { return c.next }

// Reconnects returns the number of connections that replaced one that failed or was
// closed by the server.
func (c *Conn) Reconnects() uint64 { return c.again }

// Begin connects if necessary, and starts a batch. It returns ErrPaused during a pause.
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

// Add adds a message in two parts. A datagram is sent at once, a message on a stream by
// End.
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

// End sends the batch. After an error it is unknown how much of it has arrived.
func (c *Conn) End() error {
	if c.stream != nil {
		if _, err := c.conn.Write(c.batch); err != nil {
			return c.failed(err)
		}
	}
	c.pause = 0
	return nil
}

// failed closes the connection after an error and starts a pause.
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

// dial resolves the name and connects.
func (c *Conn) dial(network string) error {
	ctx, cancel := context.WithTimeout(context.Background(), dialTime)
	defer cancel()
	conn, err := c.target.dialer().DialContext(ctx, network, c.target.Address)
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

// stream watches a connection for its end.
type stream struct {
	raw   syscall.RawConn
	ended chan struct{}
}

// watch detects that a server has closed the stream, because later writes would be lost
// without an error. A server that sends more than mostSaid bytes counts as closed. below
// is the transport of conn, or conn itself without TLS.
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

// over reports whether the stream has ended. If data has arrived that the watcher has not
// yet processed, over waits for it briefly.
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

// backOff delays the next connect, with jitter.
func (c *Conn) backOff() {
	c.pause = min(max(2*c.pause, firstPause), longestPause)
	c.next = c.now().Add(c.pause/2 + rand.N(c.pause))
}

// Close closes the connection; the next Begin opens another.
func (c *Conn) Close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}
