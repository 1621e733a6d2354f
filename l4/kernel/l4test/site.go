package l4test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/nftables"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/housetest"
	"github.com/sluicelb/sluice/sysnet/nft"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// Quiet discards log messages.
var Quiet = slog.New(slog.DiscardHandler)

// Site is a network with an appliance whose kernel carries farms. Backends b1, b2 and so on
// listen on ports 80 and 8080.
type Site struct {
	*housetest.Site
	NFT        *nft.Runner
	Reconciler *kernel.Reconciler // Renew sets one with nftables
	Filter     kernel.Filter
	VIP4, VIP6 string

	t          *testing.T
	generation uint64
	farms      map[uint32]farm.Farm // as applied last
}

// NewSite returns a new site, or skips the test without the program nft.
func NewSite(t *testing.T, backends int) *Site {
	t.Helper()
	run, err := nft.Find()
	if err != nil {
		t.Skip(err)
	}
	s := &Site{Site: housetest.Plan{Clients: 2, Sources: 20, Backends: backends}.Build(housetest.New(t)), NFT: run, t: t}
	s.VIP4, s.VIP6 = s.VIP(200)
	s.Appliance.Sysctl("net.ipv4.ip_forward", "1")
	s.Appliance.Sysctl("net.ipv6.conf.all.forwarding", "1")
	for i, b := range s.Backends {
		b.Server(fmt.Sprintf("b%d", i+1), 80, 8080)
	}
	for _, c := range s.Clients {
		c.Route("default via "+housetest.ApplianceFront4, "default via "+housetest.ApplianceFront6)
	}
	s.Renew()
	return s
}

// Renew sets a reconciler that does not know the kernel's rules and rebuilds everything.
func (s *Site) Renew() {
	s.t.Helper()
	Unseal(s.t, s.Appliance)
	s.Use(nftables.New(s.NFT, Quiet))
}

// Unseal deletes the seal of a namespace's rules, so that the next filter must rebuild them.
func Unseal(t *testing.T, in *housetest.Namespace) {
	t.Helper()
	for _, seal := range sealed.FindAllString(in.Run("nft", "-t", "list", "sets"), -1) {
		in.Run("nft", "delete", "set", "inet", "sluice", seal)
	}
}

var sealed = regexp.MustCompile(`seal[0-9a-f]{32}`)

// Use sets a new reconciler with this filter.
func (s *Site) Use(f kernel.Filter) {
	s.Filter, s.Reconciler = f, kernel.New(kernel.Options{Filter: f, Log: Quiet})
}

// Try makes the appliance carry exactly these farms and returns those that are not carried.
func (s *Site) Try(farms ...farm.Farm) (problems map[uint32]string) {
	s.t.Helper()
	s.generation++
	s.In(func(ctx context.Context) {
		problems = s.Reconciler.Apply(ctx, s.generation, &farm.Config{Farms: s.shared(farms)})
	})
	return problems
}

// shared returns a copy of farms that tests may modify later. Like successive snapshots,
// copies share the memory of farms that did not change.
func (s *Site) shared(farms []farm.Farm) []farm.Farm {
	out := make([]farm.Farm, len(farms))
	for i := range farms {
		if out[i] = s.farms[farms[i].ID]; !reflect.DeepEqual(out[i], farms[i]) {
			out[i] = farms[i].Clone()
		}
	}
	s.farms = map[uint32]farm.Farm{}
	for _, f := range out {
		s.farms[f.ID] = f
	}
	return out
}

// Apply makes the appliance carry exactly these farms.
func (s *Site) Apply(farms ...farm.Farm) {
	s.t.Helper()
	for id, p := range s.Try(farms...) {
		s.t.Fatalf("farm %d: %s", id, p)
	}
}

// Follow runs the reconciler until the test ends.
func (s *Site) Follow() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Appliance.Do(func() { s.Reconciler.Run(ctx) })
	}()
	s.t.Cleanup(func() { cancel(); <-done })
}

// In calls f inside the appliance's namespace.
func (s *Site) In(f func(ctx context.Context)) {
	s.t.Helper()
	s.Appliance.Do(func() { f(context.Background()) })
}

// Farm returns a kernel farm on a port of the VIP, with all backends.
func (s *Site) Farm(id uint32, protocol farm.L4Protocol, nat farm.NATType, six bool, port uint16) farm.Farm {
	l := farm.DefaultL4()
	l.ID, l.Protocol, l.NAT, l.DataPath = id, protocol, nat, farm.DataPathKernel
	if port != 0 {
		l.Ports = []farm.PortRange{{First: port, Last: port}}
	}
	f := farm.Farm{ID: id, Name: fmt.Sprintf("f%d", id), Profile: farm.ProfileL4, VIP: netip.MustParseAddr(s.VIP4), L4: l}
	if six {
		f.VIP = netip.MustParseAddr(s.VIP6)
	}
	for i, b := range s.Backends {
		addr := netip.MustParseAddr(b.V4)
		if six {
			addr = netip.MustParseAddr(b.V6)
		}
		l.Backends = append(l.Backends, farm.Backend{ID: id*10 + uint32(i), Host: addr.String(), Addr: addr, Port: 8080})
	}
	return f
}

// Ask sends one request to the farm, from an address of the client or any.
func (s *Site) Ask(network string, from netip.Addr, to string) housetest.Seen {
	s.t.Helper()
	var source netip.AddrPort
	if from.IsValid() {
		source = netip.AddrPortFrom(from, 0)
	}
	a, err := s.Client.Ask(network, source, to)
	if err != nil {
		s.t.Fatal(err)
	}
	a.Close()
	return a.Seen
}

// Open opens a connection of client n that stays open until the test ends.
func (s *Site) Open(n int, to string) (*housetest.Answer, error) {
	s.t.Helper()
	a, err := s.Client.Ask("tcp", netip.AddrPortFrom(Source(n), 0), to)
	if err == nil {
		s.t.Cleanup(a.Close)
	}
	return a, err
}

// Tracked counts the tracked connections to a backend.
func (s *Site) Tracked(backend uint32) (c conntrack.Counts) {
	s.t.Helper()
	s.In(func(ctx context.Context) {
		found, err := conntrack.Count(ctx, conntrack.Backend(backend))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, of := range found {
			c.Total, c.Established, c.Pending, c.Closed = c.Total+of.Total, c.Established+of.Established, c.Pending+of.Pending, c.Closed+of.Closed
		}
	})
	return c
}

// Sessions returns the sessions of a farm.
func (s *Site) Sessions(service uint32) (list []ctl.KernelSession) {
	s.t.Helper()
	s.In(func(ctx context.Context) {
		var err error
		if _, list, err = s.Reconciler.Sessions(ctx, service, 100); err != nil {
			s.t.Fatal(err)
		}
	})
	return list
}

// Traffic returns the counters.
func (s *Site) Traffic() (out ctl.KernelTraffic) {
	s.t.Helper()
	s.In(func(ctx context.Context) {
		var err error
		if out, err = s.Reconciler.Traffic(ctx); err != nil {
			s.t.Fatal(err)
		}
	})
	return out
}

// Ruleset returns nft's list of all tables.
func (s *Site) Ruleset() string { return s.Appliance.Run("nft", "list", "ruleset") }

// RestartsEnd stops and starts each farm and checks that this ends its connection and no
// other.
func (s *Site) RestartsEnd(farms []farm.Farm) {
	s.t.Helper()
	s.Apply(farms...)
	open := make([]*housetest.Answer, len(farms))
	for i, f := range farms {
		a, err := s.Client.Ask("tcp", netip.AddrPort{}, Listener(f))
		if err != nil {
			s.t.Fatal(err)
		}
		defer a.Close()
		open[i] = a
	}
	for i, f := range farms {
		at := slices.Clone(farms)
		at[i].Stopped = true
		s.Apply(at...)
		s.Apply(farms...)
		if err := open[i].Again("after a restart"); !errors.Is(err, syscall.ECONNRESET) {
			s.t.Errorf("%s %s: %v", f.L4.NAT, f.VIP, err)
		}
		s.Ask("tcp", netip.Addr{}, Listener(f))
		for _, other := range open[i+1:] {
			if err := other.Again("of another farm"); err != nil {
				s.t.Error(err)
			}
		}
	}
}

// TCPAndUDPStayTogether checks that a client of a farm of TCP and UDP has one backend for
// both, with two backends in turn.
func (s *Site) TCPAndUDPStayTogether() {
	s.t.Helper()
	var farms []farm.Farm
	for i, nat := range []farm.NATType{farm.NATMasquerade, farm.NATTarget} {
		for j, six := range []bool{false, true} {
			f := s.Farm(uint32(1+2*i+j), farm.L4TCPUDP, nat, six, uint16(53+i))
			f.L4.Algorithm, f.L4.Persist = farm.L4RoundRobin, farm.L4PersistSrc
			farms = append(farms, f)
		}
	}
	s.Apply(farms...)
	for _, f := range farms {
		used := map[string]int{}
		for i := range 4 {
			from := Source(i)
			if f.VIP.Is6() {
				from = netip.MustParseAddr(fmt.Sprintf("fd00:1::%d", 100+i))
			}
			first := s.Ask("udp", from, Listener(f)).Server
			used[first]++
			for _, network := range []string{"tcp", "udp"} {
				if got := s.Ask(network, from, Listener(f)).Server; got != first {
					s.t.Errorf("%s %s: client %d was at %s, by %s it is at %s", f.L4.NAT, f.VIP, i, first, network, got)
				}
			}
		}
		if used["b1"] != 2 || used["b2"] != 2 {
			s.t.Errorf("%s %s: in turn: %v", f.L4.NAT, f.VIP, used)
		}
	}
}

// Source returns one of twenty client addresses.
func Source(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 10, 1, byte(100 + n)}) }

// Listener returns the address of a farm with one port.
func Listener(f farm.Farm) string {
	return netip.AddrPortFrom(f.VIP, f.L4.Ports[0].First).String()
}

// Stopped returns the farm in its stopped state.
func Stopped(f farm.Farm) farm.Farm {
	f.Stopped = true
	return f
}

// Refused reports whether the connection was refused.
func Refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// Eventually waits until ok.
func Eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	sysnettest.Eventually(t, func() (string, bool) { return "not so that " + what, ok() })
}
