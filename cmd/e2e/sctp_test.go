package e2e_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// sctpSocket returns a one-to-one SCTP socket (RFC 6458 §4) of a namespace, bound to and
// announcing one address, with a timeout of ten seconds.
func sctpSocket(n *housetest.Namespace, at string) (fd int, err error) {
	addr := netip.MustParseAddrPort(at)
	n.Do(func() { fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_SCTP) })
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	patience := unix.Timeval{Sec: 10}
	for _, option := range []int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} {
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, option, &patience); err != nil {
			return fd, os.NewSyscallError("setsockopt", err)
		}
	}
	return fd, os.NewSyscallError("bind", unix.Bind(fd, &unix.SockaddrInet4{Addr: addr.Addr().As4(), Port: int(addr.Port())}))
}

// sctpServer sends every client its name and the client's address.
func sctpServer(t *testing.T, n *housetest.Namespace, name, at string) {
	t.Helper()
	fd, err := sctpSocket(n, at)
	if err == nil {
		err = os.NewSyscallError("listen", unix.Listen(fd, 16))
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	over := make(chan bool)
	t.Cleanup(func() { close(over); _ = unix.Close(fd) })
	go func() {
		for {
			c, from, err := unix.Accept(fd)
			select {
			case <-over:
				return
			default:
			}
			if err != nil {
				continue // timeout without a client
			}
			peer := from.(*unix.SockaddrInet4)
			_, _ = unix.Write(c, fmt.Appendf(nil, "%s %s", name, netip.AddrFrom4(peer.Addr)))
			_ = unix.Close(c)
		}
	}()
}

// sctpAsk connects and returns the server's message.
func sctpAsk(n *housetest.Namespace, from, to string) (string, error) {
	fd, err := sctpSocket(n, from)
	defer unix.Close(fd)
	if err != nil {
		return "", err
	}
	addr := netip.MustParseAddrPort(to)
	if err := unix.Connect(fd, &unix.SockaddrInet4{Addr: addr.Addr().As4(), Port: int(addr.Port())}); err != nil {
		return "", os.NewSyscallError("connect", err)
	}
	b := make([]byte, 100)
	size, err := unix.Read(fd, b)
	if err != nil {
		return "", os.NewSyscallError("read", err)
	}
	return string(b[:size]), nil
}

func TestSCTPAssociationsPassAFarm(t *testing.T) {
	t.Parallel()
	// That kernel has no nf_tables: farms are carried by iptables.
	if !inUserMode(t, "sctp", "iptable_nat", "iptable_filter", "iptable_mangle", "iptable_raw") {
		return
	}
	s := housetest.Plan{Backends: 2}.Build(housetest.New(t))
	vip, _ := s.VIP(200)
	for i, b := range s.Backends {
		sctpServer(t, b.Namespace, fmt.Sprintf("b%d", i+1), b.V4+":5000")
	}
	a, _ := installed(t, s)
	farms := file(t, `farms:
- {name: masqueraded, profile: l4xnat, vip: `+vip+`, vport: 7000, protocol: sctp, algorithm: roundrobin, backends: [{ip: 10.10.2.11, port: 5000}, {ip: 10.10.2.12, port: 5000}]}
- {name: plain, profile: l4xnat, vip: `+vip+`, vport: 5000, protocol: sctp, nattype: dnat, algorithm: roundrobin, backends: [{ip: 10.10.2.11}, {ip: 10.10.2.12}]}
- {name: everything, profile: l4xnat, vip: 10.10.1.1, vport: "*", protocol: all, nattype: dnat, backends: [{ip: 10.10.2.12}]}
`)
	// In that kernel some thirty runs of iptables may take longer than the limit of a
	// change. One that was too slow is repeated.
	within(t, 90*time.Second, "farms are carried", func() error {
		if out, status := a.run("apply", "--yes", "-f", farms); status != 0 {
			return errors.New(out)
		}
		return nil
	})
	if out := a.must("farm", "list"); strings.Count(out, "up") < 2 {
		t.Logf("farms:\n%s", out)
	}
	for _, c := range []struct {
		to, seen string
		by       []string
	}{
		{vip + ":7000", housetest.ApplianceBack4, []string{"b1", "b2"}},
		{vip + ":5000", "10.10.1.2", []string{"b1", "b2"}},
		{"10.10.1.1:5000", "10.10.1.2", []string{"b2"}},
	} {
		count := map[string]int{}
		for i := range 10 {
			got, err := sctpAsk(s.Client, fmt.Sprintf("10.10.1.2:%d", 20000+i), c.to)
			if err != nil {
				t.Fatalf("%s: association %d: %v", c.to, i, err)
			}
			by, seen, _ := strings.Cut(got, " ")
			if count[by]++; seen != c.seen {
				t.Errorf("%s: %s saw %s, want %s", c.to, by, seen, c.seen)
			}
		}
		for _, by := range c.by {
			if count[by] != 10/len(c.by) {
				t.Errorf("%s: the backends had %v", c.to, count)
			}
		}
	}
}
