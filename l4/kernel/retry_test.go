package kernel_test

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/sysnet/conntrack"
)

// A first packet that was dropped and repeated occupies the backend that gets it only.
func TestARetryOccupiesItsOwnBackendOnly(t *testing.T) {
	for name, c := range map[string]struct {
		protocol farm.L4Protocol
		six      bool
	}{
		"tcp": {farm.L4TCP, false}, "tcp over IPv6": {farm.L4TCP, true}, "udp": {farm.L4UDP, false}, "udp over IPv6": {farm.L4UDP, true}, "tcp of a farm for UDP, too": {farm.L4TCPUDP, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := l4test.NewSite(t, 2)
			f := s.Farm(1, c.protocol, farm.NATMasquerade, c.six, 80)
			f.L4.Algorithm, f.L4.Backends[0].ConnLimit, f.L4.Backends[1].ConnLimit = farm.L4RoundRobin, 1, 2
			s.Apply(f)
			network, source := "tcp", l4test.Source(3)
			if c.protocol == farm.L4UDP {
				network = "udp"
			}
			if c.six {
				source = netip.MustParseAddr("fd00:1::103")
			}
			ask := func(limit time.Duration, port uint16) (string, error) {
				a, err := s.Client.AskWithin(limit, network, netip.AddrPortFrom(source, port), l4test.Listener(f))
				if err != nil {
					return "", err
				}
				t.Cleanup(a.Close)
				return a.Server, nil
			}
			come := func(port uint16, want string) {
				t.Helper()
				if got, err := ask(5*time.Second, port); err != nil || got != want {
					t.Fatalf("client port %d: at %q, %v, want %s\n%s", port, got, err, want, s.Ruleset())
				}
			}
			come(40001, "b1")
			come(40002, "b2")
			time.Sleep(2 * tick) // the kernel looks for connections that are gone once in a tick
			s.Appliance.Run("nft", "flush", "set", "inet", "sluice", "full")
			if network == "udp" {
				send(t, s, netip.AddrPortFrom(source, 40003), l4test.Listener(f))
			} else if got, err := ask(50*time.Millisecond, 40003); err == nil && got != "b2" {
				t.Fatalf("a client came to %s, which was full", got)
			}
			time.Sleep(2 * tick)
			come(40003, "b2")
			s.In(func(ctx context.Context) {
				if n, err := conntrack.Flush(ctx, conntrack.Backend(10)); n != 1 || err != nil {
					t.Errorf("connections of the first backend that ended: got %d, %v, want 1", n, err)
				}
			})
			time.Sleep(2 * tick)
			s.Reconciler.Age(100 * time.Millisecond)
			s.In(s.Reconciler.Follow)
			come(40004, "b1")
		})
	}
}

// send sends a datagram and closes its socket.
func send(t *testing.T, s *l4test.Site, from netip.AddrPort, to string) {
	t.Helper()
	c, err := s.Client.DialWith(t.Context(), &net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(from)}, "udp", to)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
}
