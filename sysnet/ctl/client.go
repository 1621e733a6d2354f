package ctl

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/shm"
)

// callTimeout bounds a call whose context has no earlier deadline.
const callTimeout = 5 * time.Second

// Client is a connection to netd. It connects on first use and reconnects after a restart
// of netd. The supervisor owns the listening socket, so a call made while netd is down
// waits in the backlog until the new netd replies or the context ends. A Client is safe
// for concurrent use; calls are serialized.
type Client struct {
	path  string
	mu    sync.Mutex
	conn  *net.UnixConn
	buf   []byte
	dials atomic.Uint64 // connections so far
}

// NewClient returns a client of the netd that listens on the unix socket path.
func NewClient(path string) *Client { return &Client{path: path, buf: make([]byte, maxReply)} }

// Open returns count sockets for a key of KeyTCP or KeyUDP, listening or bound. Sockets
// that netd already holds for the key are returned first. The caller owns the files. A
// rejection is an *Error.
func (c *Client) Open(ctx context.Context, key string, count int) ([]*os.File, error) {
	network, address, _ := strings.Cut(key, "/")
	_, files, err := c.call(ctx, Request{Op: OpOpen, Key: key, Network: network, Address: address, Count: count})
	if err != nil {
		return nil, err
	}
	if len(files) != count {
		closeFiles(files)
		return nil, fmt.Errorf("netd: %d sockets asked for, %d received", count, len(files))
	}
	return files, nil
}

// Probe returns nil if Open would succeed for the key, else the *Error that Open would
// return. It opens no listener that clients could reach.
func (c *Client) Probe(ctx context.Context, key string) error {
	network, address, _ := strings.Cut(key, "/")
	_, files, err := c.call(ctx, Request{Op: OpProbe, Key: key, Network: network, Address: address})
	closeFiles(files)
	return err
}

// Close releases the sockets of a key in netd. An unknown key is ignored.
func (c *Client) Close(ctx context.Context, key string) error {
	network, address, _ := strings.Cut(key, "/")
	_, files, err := c.call(ctx, Request{Op: OpClose, Key: key, Network: network, Address: address})
	closeFiles(files)
	return err
}

// List returns the keys of all addresses netd holds, sorted.
func (c *Client) List(ctx context.Context) ([]string, error) {
	var keys []string
	for from := ""; ; from = keys[len(keys)-1] {
		reply, files, err := c.call(ctx, Request{Op: OpList, From: from})
		closeFiles(files)
		if err != nil {
			return nil, err
		}
		keys = append(keys, reply.Keys...)
		if !reply.More || len(reply.Keys) == 0 {
			return keys, nil
		}
	}
}

// Hangup closes the connection; the next call opens a new one.
func (c *Client) Hangup() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hangup()
}

func (c *Client) hangup() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

func (c *Client) connect(ctx context.Context) error {
	if c.conn != nil {
		return nil
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unixpacket", c.path)
	if err != nil {
		return err
	}
	c.conn = conn.(*net.UnixConn)
	c.dials.Add(1)
	return nil
}

// Connection returns the number of the connection to netd. It grows when netd was restarted,
// which costs one system call to find out. While a call is in progress it returns the
// previous number.
func (c *Client) Connection(ctx context.Context) uint64 {
	if c.mu.TryLock() {
		defer c.mu.Unlock()
		if c.conn != nil && ended(c.conn) {
			c.hangup()
		}
		_ = c.connect(ctx) // the next call says why not
	}
	return c.dials.Load()
}

// ended reports whether the other end closed the connection.
func ended(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	is := true
	err = raw.Control(func(fd uintptr) {
		_, _, failed := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		is = failed != unix.EAGAIN && failed != unix.EINTR // no message comes unasked
	})
	return is || err != nil
}

// call sends one request with callTimeout. Every operation is idempotent, so a broken
// connection is replaced and the request repeated once.
func (c *Client) call(ctx context.Context, r Request) (Reply, []*os.File, error) {
	return c.callWith(ctx, callTimeout, r, nil)
}

// callWith is call with a different timeout and with files attached to the request.
func (c *Client) callWith(ctx context.Context, limit time.Duration, r Request, attached []*os.File) (Reply, []*os.File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	old := c.conn != nil
	reply, files, err := c.try(ctx, r, attached)
	if err != nil && old && ctx.Err() == nil {
		reply, files, err = c.try(ctx, r, attached)
	}
	if err != nil {
		return Reply{}, nil, fmt.Errorf("netd does not answer: %w", err)
	}
	if reply.Code != "" {
		closeFiles(files)
		return Reply{}, nil, &Error{Code: reply.Code, Text: reply.Error}
	}
	return reply, files, nil
}

// try makes one attempt. After an error the connection is closed.
func (c *Client) try(ctx context.Context, r Request, attached []*os.File) (reply Reply, files []*os.File, err error) {
	defer func() {
		if err != nil {
			closeFiles(files)
			c.hangup()
		}
	}()
	if err := c.connect(ctx); err != nil {
		return reply, nil, err
	}
	conn := c.conn
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return reply, nil, err
		}
	}
	// Cancelling the context before its deadline interrupts the wait.
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	b, err := json.Marshal(r)
	if err != nil {
		return reply, nil, err
	}
	if err := shm.Send(conn, b, attached...); err != nil {
		return reply, nil, err
	}
	n, files, err := shm.Receive(conn, c.buf)
	if err != nil {
		return reply, files, err
	}
	err = json.Unmarshal(c.buf[:n], &reply)
	return reply, files, err
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
