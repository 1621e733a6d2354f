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

// OpPing asks for a socket for echo requests of ICMP. It is one of those that the kernel lets
// do nothing else, which mgmt may not make where net.ipv4.ping_group_range is as Linux has it.
// A raw socket would let mgmt send any packet.
const OpPing Op = "ping"

// pingSocket is the body of OpPing.
type pingSocket struct {
	V6 bool `json:"v6,omitempty"`
}

// attached is a reply that consists of files made for it.
type attached []*os.File

// pingTime bounds how long mgmt waits for a socket: netd needs well below a millisecond.
const pingTime = time.Second

// Ping has netd make a socket for echo requests, which the caller owns. errors.Is(err,
// ErrNotPermitted) where netd may not make any.
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

// PingSocket answers OpPing.
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
	return attached{os.NewFile(uintptr(fd), "ping")}, nil // blocking: netd is not woken by what comes in
}

// pingGroups is the sysctl with the groups whose processes may make such sockets, of both
// versions of IP.
const pingGroups = "/proc/sys/net/ipv4/ping_group_range"

// widening is held while the group of this process is let in.
var widening sync.Mutex

// openPing makes a socket. The kernel looks at the group only then, so that the range is as
// it was right afterwards. If this process died between, a group of root would stay in it,
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
