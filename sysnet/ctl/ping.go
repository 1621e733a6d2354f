package ctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// OpPing returns a ping socket (SOCK_DGRAM, IPPROTO_ICMP), which can only send echo
// requests. With the default net.ipv4.ping_group_range of Linux, mgmt may not open one
// itself. A raw socket would let mgmt send any packet.
const OpPing Op = "ping"

// pingSocket is the body of OpPing.
type pingSocket struct {
	V6 bool `json:"v6,omitempty"`
}

// attached is a reply that consists of files opened for it.
type attached []*os.File

// pingTime bounds the wait of mgmt for a ping socket; netd needs well below a
// millisecond.
const pingTime = time.Second

// Ping returns a ping socket from netd, which the caller owns. The error is
// ErrNotPermitted if netd may not open one either.
func (c *Client) Ping(ctx context.Context, v6 bool) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	files, err := c.askFiles(ctx, OpPing, pingSocket{v6})
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		closeFiles(files)
		return nil, fmt.Errorf("netd: 1 socket asked for, %d received", len(files))
	}
	return files[0], nil
}

// PingSocket handles OpPing.
func PingSocket(_ context.Context, body []byte, files []*os.File) (any, error) {
	var q pingSocket
	if err := Strict(body, &q); err != nil {
		return nil, err
	}
	if len(files) != 0 {
		return nil, rejection(CodeInvalid, "no descriptors are expected")
	}
	family, protocol := unix.AF_INET, unix.IPPROTO_ICMP
	if q.V6 {
		family, protocol = unix.AF_INET6, unix.IPPROTO_ICMPV6
	}
	fd, err := openPing(family, protocol)
	switch {
	case errors.Is(err, os.ErrPermission), errors.Is(err, unix.EROFS):
		return nil, rejection(CodeNotPermitted, "no socket for echo requests can be made: %v", err)
	case err != nil:
		return nil, err
	}
	return attached{os.NewFile(uintptr(fd), "ping")}, nil // blocking, so that the runtime does not poll it
}

// pingGroups is the sysctl with the range of groups that may open ping sockets. It
// applies to IPv4 and IPv6.
const pingGroups = "/proc/sys/net/ipv4/ping_group_range"

// widening serializes changes of pingGroups.
var widening sync.Mutex

// openPing opens a ping socket, extending pingGroups to the group of this process if
// necessary. The kernel checks the group only in socket(2), so the range is restored
// right afterwards. If this process dies in between, the range keeps a group of root,
// whose processes may send more than that anyway.
func openPing(family, protocol int) (int, error) {
	fd, err := newPing(family, protocol)
	if !errors.Is(err, os.ErrPermission) {
		return fd, err
	}
	widening.Lock()
	defer widening.Unlock()
	before, err := os.ReadFile(pingGroups)
	if err != nil {
		return -1, err
	}
	mine := fmt.Appendf(nil, "%d %d\n", os.Getegid(), os.Getegid())
	if err := os.WriteFile(pingGroups, mine, 0); err != nil {
		return -1, err
	}
	fd, err = newPing(family, protocol)
	if was := os.WriteFile(pingGroups, bytes.TrimSpace(before), 0); was != nil && err == nil {
		_ = unix.Close(fd)
		return -1, was
	}
	return fd, err
}

func newPing(family, protocol int) (int, error) {
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, protocol)
	return fd, os.NewSyscallError("socket", err)
}
