package ctl

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/marks"
)

// OpMark sets the mark of a farm on a socket of mgmt, so that probes of backends take the
// same route as traffic of the farm. mgmt lacks CAP_NET_ADMIN. The socket is attached to
// the request and remains open in mgmt.
const OpMark Op = "mark"

// socketMark is the body of OpMark.
type socketMark struct {
	Mark uint32 `json:"mark"`
}

// markTime bounds the wait of mgmt for a mark; netd needs well below a millisecond.
const markTime = time.Second

// Mark has netd set the mark of the socket fd. The error is ErrNotPermitted if netd may
// not set marks either.
func (c *Client) Mark(ctx context.Context, fd int, mark uint32) error {
	twin, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	file := os.NewFile(uintptr(twin), "socket")
	defer file.Close()
	ctx, cancel := context.WithTimeout(ctx, markTime)
	defer cancel()
	return c.Ask(ctx, OpMark, socketMark{mark}, nil, file)
}

// MarkSocket handles OpMark. It rejects the marks reserved for distinguishing farms
// within the machine.
func MarkSocket(_ context.Context, body []byte, files []*os.File) (any, error) {
	var q socketMark
	if err := Strict(body, &q); err != nil {
		return nil, err
	}
	if q.Mark == 0 || marks.Own(q.Mark) || len(files) != 1 {
		return nil, rejection(CodeInvalid, "one socket and a mark that farms may have are expected")
	}
	conn, err := files[0].SyscallConn()
	if err != nil {
		return nil, err
	}
	var set error
	if err := conn.Control(func(fd uintptr) { set = markInternet(int(fd), q.Mark) }); err != nil {
		return nil, err
	}
	if errors.Is(set, unix.EPERM) {
		return nil, rejection(CodeNotPermitted, "%s", marks.ErrNotPermitted)
	}
	return struct{}{}, set
}

func markInternet(fd int, mark uint32) error {
	family, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil || family != unix.AF_INET && family != unix.AF_INET6 {
		return rejection(CodeInvalid, "what came is no socket of IPv4 or IPv6")
	}
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, int(mark)))
}
