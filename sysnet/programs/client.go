package programs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// ErrUnavailable means that progd is unreachable or ended meanwhile. The state of the
// program is unknown.
var ErrUnavailable = errors.New("the process that starts programs (progd) does not answer")

// Client sends calls to progd. It is safe for concurrent use.
type Client struct {
	mu sync.Mutex // held while a socket is sent, because its deadline applies to the connection
	to *net.UnixConn
}

// NewClient returns a client that uses mgmt's end of the pair.
func NewClient(to *net.UnixConn) *Client { return &Client{to: to} }

// Run has progd run a program and waits for its end. files are the program and those
// named by call.Beside if only this process may read them, else none. It returns
// ErrUnavailable if progd is unreachable or ctx ended before the start.
func (c *Client) Run(ctx context.Context, call Call, files ...*os.File) (End, error) {
	conn, theirs, err := pair()
	if err != nil {
		return End{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer conn.Close()
	err = c.hand(ctx, theirs, files)
	_ = theirs.Close()
	if err != nil {
		return End{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if err := json.NewEncoder(conn).Encode(call); err != nil {
		return End{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	answers := json.NewDecoder(io.LimitReader(conn, 4*mostOutput))
	var a answer
	for began := false; ; began = true {
		switch err := answers.Decode(&a); {
		case err == nil:
		case ctx.Err() == nil:
			return End{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
		case !began:
			return End{}, fmt.Errorf("%w in time", ErrUnavailable)
		default:
			return End{Late: errors.Is(ctx.Err(), context.DeadlineExceeded), Gone: true}, nil
		}
		if a.End != nil {
			return *a.End, nil
		}
		if !began && call.Started != nil {
			call.Started()
		}
	}
}

// hand sends progd its end of a call, with files.
func (c *Client) hand(ctx context.Context, theirs *os.File, files []*os.File) error {
	fds := []int{int(theirs.Fd())}
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	until, _ := ctx.Deadline()
	_ = c.to.SetWriteDeadline(until)
	defer context.AfterFunc(ctx, func() { _ = c.to.SetWriteDeadline(time.Unix(1, 0)) })()
	_, _, err := c.to.WriteMsgUnix([]byte{0}, syscall.UnixRights(fds...), nil)
	return err
}

// pair returns both ends of the socket pair of a call.
func pair() (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	mine := os.NewFile(uintptr(fds[0]), "call")
	defer mine.Close()
	theirs = os.NewFile(uintptr(fds[1]), "call")
	c, err := net.FileConn(mine)
	if err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	return c.(*net.UnixConn), theirs, nil
}
