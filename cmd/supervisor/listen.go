package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ListenAPI implements line.Desk. It opens another listener for the API. An empty address
// selects the initial one. Later mgmt processes get it, too. The current mgmt closes its
// previous listener itself.
func (s *supervisor) ListenAPI(address string) (*os.File, error) {
	if address == "" {
		address = s.sockets.apiStart
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil || at.Port() == 0 {
		return nil, fmt.Errorf("%q is no address to listen on", address)
	}
	s.moving.Lock()
	defer s.moving.Unlock()
	// The only way to share a port between a wildcard and a specific address.
	share(s.sockets.apiFile, 1)
	f, err := listenShared(at)
	share(s.sockets.apiFile, 0)
	if err != nil {
		return nil, err
	}
	s.manager.give("api", f)
	_ = s.sockets.apiFile.Close()
	s.sockets.apiFile = f
	return f, nil
}

// listenShared opens a listener next to one that shares its port, then stops sharing.
func listenShared(at netip.AddrPort) (*os.File, error) {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		cause := c.Control(func(fd uintptr) { err = setShared(int(fd), 1) })
		return errors.Join(cause, err)
	}}
	address := listenText(at)
	l, err := config.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, listenProblem(address, err)
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	if err == nil {
		share(f, 0)
	}
	return f, err
}

// listenText returns the listen address; the unspecified IPv6 address opens both families.
func listenText(at netip.AddrPort) string {
	if at.Addr() == netip.IPv6Unspecified() {
		return fmt.Sprintf(":%d", at.Port())
	}
	return at.String()
}

// share sets whether others may use the port of a socket, too. On kernels without that
// option, opening the second socket fails.
func share(f *os.File, on int) {
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { _ = setShared(int(fd), on) })
	}
}

func setShared(fd, on int) error {
	return os.NewSyscallError("setsockopt SO_REUSEPORT", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, on))
}
