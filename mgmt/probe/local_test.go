package probe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// routes is a network whose UDP connections fail as the routes of the machine would.
type routes struct{ err error }

func (r routes) DialContext(_ context.Context, network, address string) (net.Conn, error) {
	if network != "udp" || address != "192.0.2.1:9" {
		return nil, fmt.Errorf("dialled %s by %s", address, network)
	}
	if r.err != nil {
		return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", r.err)}
	}
	a, b := net.Pipe()
	_ = b.Close()
	return a, nil
}

func (routes) ListenPacket(context.Context, string, string) (net.PacketConn, error) {
	return nil, errors.New("nobody listens")
}

func failsWith(t *testing.T, n probe.Network, err error) error {
	t.Helper()
	var got probe.Text
	p, problem := one(func(context.Context, probe.Say) error { return err }, &got).Parse("check_x")
	if problem != nil {
		t.Fatal(problem)
	}
	return p.Run(t.Context(), n, probe.Target{}, func(string, ...any) {})
}

func TestLocalFaultsAreDistinguished(t *testing.T) {
	dial := func(errno syscall.Errno) error {
		to := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}
		return fmt.Errorf("hello: %w", &net.OpError{Op: "dial", Net: "tcp", Addr: to, Err: os.NewSyscallError("connect", errno)})
	}
	raw := &net.OpError{Op: "write", Addr: &net.IPAddr{IP: net.IPv4(192, 0, 2, 1)}, Err: os.NewSyscallError("sendto", syscall.ENETUNREACH)}
	here := routes{syscall.ENETUNREACH}
	for _, c := range []struct {
		n     probe.Network
		err   error
		local string // the text of the error, "" for a fault of the target
	}{
		{routes{}, dial(syscall.EMFILE), "not asked: Sluice has no file descriptor left: raise its limit (LimitNOFILE)"},
		{routes{}, dial(syscall.ENFILE), "fs.file-max"},
		{routes{}, dial(syscall.ENOBUFS), "no memory"},
		{routes{}, dial(syscall.ENOMEM), "no memory"},
		{routes{}, dial(syscall.EADDRNOTAVAIL), "the source address is not one of this machine"},
		{routes{}, dial(syscall.EADDRINUSE), "no port of it is free"},
		{routes{}, dial(syscall.EAGAIN), "no port of it is free"},
		{routes{}, dial(syscall.EPERM), "its firewall"},
		{routes{}, dial(syscall.ENETDOWN), "the network interface is down"},
		{routes{}, dial(syscall.EAFNOSUPPORT), "of that family"},
		{routes{}, dial(syscall.EINVAL), "cannot send to that address"},
		{here, dial(syscall.ENETUNREACH), "not asked: this machine has no route to the address"},
		{here, raw, "no route"},
		{routes{syscall.EACCES}, dial(syscall.EACCES), "not allowed to use it"},
		{routes{}, &net.DNSError{Name: "db.example", Err: "no such host"}, "not asked: the name db.example was not resolved: no such host"},
		{routes{}, fmt.Errorf("x: %w", probe.Local(errors.New("no\nplugin"))), "not asked: x: no plugin"},
		// A router on the way reports this for a host or network behind it.
		{routes{}, dial(syscall.ENETUNREACH), ""},
		{routes{}, dial(syscall.EACCES), ""},
		{routes{}, dial(syscall.EHOSTUNREACH), ""},
		{here, dial(syscall.ECONNREFUSED), ""},
		{here, dial(syscall.ECONNRESET), ""},
		{here, dial(syscall.ETIMEDOUT), ""},
		{here, os.ErrDeadlineExceeded, ""},
		{here, io.EOF, ""},
		{here, errors.New("answered 503"), ""},
	} {
		got := failsWith(t, c.n, c.err)
		if is := errors.Is(got, probe.ErrLocal); is != (c.local != "") {
			t.Errorf("%v: one of this machine is %t: %v", c.err, is, got)
		} else if !strings.Contains(got.Error(), c.local) || strings.HasPrefix(got.Error(), "not asked: ") != is {
			t.Errorf("%v: the message is %q, want %q", c.err, got, c.local)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var got probe.Text
	p, _ := one(healthy, &got).Parse("check_x")
	if err := p.Run(gone, routes{}, probe.Target{}, func(string, ...any) {}); !errors.Is(err, probe.ErrLocal) {
		t.Errorf("without time: %v", err)
	}
}

// A source address that was removed is no lack of privilege.
func TestPingFromAMissingAddressIsExplained(t *testing.T) {
	for network, source := range map[string]string{probe.Ping4: "192.0.2.1", probe.Ping6: "2001:db8::1"} {
		c, err := (&probe.Machine{}).ListenPacket(t.Context(), network, source)
		if err == nil {
			_ = c.Close()
			t.Fatalf("%s: %s is an address of this machine", network, source)
		}
		if err := failsWith(t, &probe.Machine{}, err); !errors.Is(err, probe.ErrLocal) || strings.Contains(err.Error(), "ping_group_range") {
			t.Errorf("%s: %v", network, err)
		}
	}
}

// This error comes from the kernel itself, in a network namespace without routes.
func TestMissingRouteIsALocalFault(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	m := &probe.Machine{}
	for _, network := range []string{"tcp", "udp"} {
		_, err := m.DialContext(t.Context(), network, netip.MustParseAddrPort("192.0.2.1:80").String())
		if err := failsWith(t, m, err); !errors.Is(err, probe.ErrLocal) || !strings.Contains(err.Error(), "no route") {
			t.Errorf("%s: %v", network, err)
		}
	}
}
