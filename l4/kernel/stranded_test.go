package kernel_test

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/nftables"
)

// A client's UDP flow moves to another backend when its backend goes down, while TCP
// connections to that backend stay.
func TestUDPFlowsLeaveADownBackend(t *testing.T) {
	table, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	s := l4test.NewSite(t, 2)
	s.Reconciler = kernel.New(kernel.Options{Filter: nftables.New(s.NFT, l4test.Quiet), Health: table, Log: l4test.Quiet})
	var farms []farm.Farm
	n := uint32(0)
	for _, protocol := range []farm.L4Protocol{farm.L4UDP, farm.L4TCPUDP} {
		for _, nat := range []farm.NATType{farm.NATMasquerade, farm.NATTarget} {
			for _, six := range []bool{false, true} {
				n++
				f := s.Farm(n, protocol, nat, six, uint16(80+n))
				f.L4.Algorithm, f.L4.Persist = farm.L4RoundRobin, map[bool]farm.L4Persistence{true: farm.L4PersistSrc}[nat == farm.NATTarget]
				farms = append(farms, f)
			}
		}
	}
	s.Apply(farms...)
	s.Follow()
	for _, f := range farms {
		t.Run(fmt.Sprintf("%s %s %s", f.L4.Protocol, f.L4.NAT, f.VIP), func(t *testing.T) {
			to := net.JoinHostPort(f.VIP.String(), fmt.Sprint(f.L4.Ports[0].First))
			c, err := s.Client.Dial(t.Context(), "udp", to)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			says := func() string {
				b := make([]byte, 1000)
				_ = c.SetDeadline(time.Now().Add(200 * time.Millisecond))
				if _, err := c.Write([]byte("x")); err != nil {
					t.Fatal(err)
				}
				n, err := c.Read(b)
				if err != nil { // a reply in transit when its flow was deleted
					return ""
				}
				var name string
				_, _ = fmt.Sscan(string(b[:n]), &name)
				return name
			}
			first := says()
			id := f.L4.Backends[0].ID
			if first == "b2" {
				id++
			}
			if again := says(); again != first {
				t.Fatalf("%s, then %s", first, again)
			}
			if f.L4.Protocol == farm.L4TCPUDP {
				for i := range 4 { // to both backends, or all to one
					if _, err := s.Client.Ask("tcp", netip.AddrPort{}, to); err != nil {
						t.Fatalf("%d: %v", i, err)
					}
				}
			}
			tcp := s.Tracked(id).Total - 1
			began := time.Now()
			table.SetGuardian(id, health.Down, time.Now())
			for now := says(); now == first || now == ""; now = says() {
				if time.Since(began) > 2*time.Second {
					t.Fatalf("the flow stays with %s, which is down", first)
				}
			}
			if now := s.Tracked(id).Total; now != tcp {
				t.Errorf("%d connections of TCP are left of %d", now, tcp)
			}
			t.Logf("left after %s", time.Since(began))
			table.SetGuardian(id, health.Up, time.Now())
			time.Sleep(300 * time.Millisecond)
			if now := says(); now == first || now == "" {
				t.Errorf("the flow returned to %s", now)
			}
		})
	}
}
