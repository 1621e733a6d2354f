package ctl

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// OpAdopt hands sockets that an earlier netd process opened to the current one. The
// descriptors are attached to the request.
const OpAdopt Op = "adopt"

// Adopt gives netd the sockets of a key. It does nothing if netd already holds that key.
// The caller keeps ownership of fds.
func (c *Client) Adopt(ctx context.Context, key string, fds []int) error {
	files := make([]*os.File, 0, len(fds))
	defer func() { closeFiles(files) }()
	for _, fd := range fds {
		twin, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return os.NewSyscallError("fcntl", err)
		}
		files = append(files, os.NewFile(uintptr(twin), key))
	}
	network, address, _ := strings.Cut(key, "/")
	_, attached, err := c.callWith(ctx, callTimeout, Request{Op: OpAdopt, Key: key, Network: network, Address: address, Count: len(fds)}, files)
	closeFiles(attached)
	return err
}

// adopt stores copies of the sockets, unless the table already holds the endpoint. fresh
// reports whether it stored them.
func (t *table) adopt(at endpoint, files []*os.File) (fresh bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held == nil {
		return false, rejection(CodeFailed, "cannot listen on %s: Sluice is being stopped", at.addr)
	}
	if t.held[at.key()] != nil {
		return false, nil
	}
	if len(t.held) >= maxKeys {
		return false, rejection(CodeTooMany, "cannot listen on %s: %d addresses are open already", at.addr, maxKeys)
	}
	g := &group{endpoint: at}
	for _, f := range files {
		raw, err := f.SyscallConn()
		var copied *os.File
		if err == nil {
			failed := raw.Control(func(fd uintptr) {
				if err = at.is(int(fd)); err == nil {
					copied, err = unwatched(int(fd), at.key())
				}
			})
			if failed != nil {
				err = failed
			}
		}
		if err != nil {
			g.shrink(0)
			return false, err
		}
		g.sockets = append(g.sockets, copied)
	}
	t.held[at.key()] = g
	return true, nil
}

// is returns an error unless fd is a socket that netd would open for the endpoint.
func (p endpoint) is(fd int) error {
	no := func(why string) error {
		return rejection(CodeInvalid, "what came is no socket of %s: %s", p.key(), why)
	}
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return no(err.Error())
	}
	listens, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if tcp := p.network == "tcp"; tcp && (kind != unix.SOCK_STREAM || listens == 0) || !tcp && kind != unix.SOCK_DGRAM {
		return no("it is of another kind")
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return no(err.Error())
	}
	var addr netip.AddrPort
	switch a := name.(type) {
	case *unix.SockaddrInet4:
		addr = netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		addr = netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port))
	}
	if addr != p.addr {
		return no(fmt.Sprintf("it is bound to %s", addr))
	}
	return nil
}

// unwatched duplicates a socket into a file that the runtime does not poll; polling would
// wake netd for every client. The runtime polls descriptors that are non-blocking when
// the file is created. The file is therefore created on a blocking placeholder, which
// Dup3 then replaces with fd.
func unwatched(fd int, name string) (*os.File, error) {
	place, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0) // SOCK_DGRAM needs no privilege
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	file := os.NewFile(uintptr(place), name)
	if err := unix.Dup3(fd, place, unix.O_CLOEXEC); err != nil {
		_ = file.Close()
		return nil, os.NewSyscallError("dup3", err)
	}
	return file, nil
}
