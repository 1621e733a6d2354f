package nftables_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/nftables"
	"github.com/sluicelb/sluice/sysnet/claim"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// instances are two instances in one network namespace.
type instances struct {
	*l4test.Site
	both [2]*kernel.Reconciler
}

func newInstances(t *testing.T) *instances {
	t.Helper()
	s := &instances{Site: l4test.NewSite(t, 1)}
	t.Cleanup(func() { claim.Use(0) })
	for i := range s.both {
		s.both[i] = kernel.New(kernel.Options{Filter: nftables.New(s.NFT, l4test.Quiet), Log: l4test.Quiet})
	}
	return s
}

func (s *instances) as(i int, do func(ctx context.Context, k *kernel.Reconciler)) {
	claim.Use(claim.Slot(3 * i))
	time.Sleep(30 * time.Millisecond) // changes of others are looked for at intervals
	s.In(func(ctx context.Context) { do(ctx, s.both[i]) })
}

// Only one of two farms at the same place would get clients.
func TestFarmsOfAnotherInstanceAreRefused(t *testing.T) {
	s := newInstances(t)
	at := func(edit func(f *farm.Farm)) farm.Farm {
		f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
		edit(&f)
		return f
	}
	ports := func(first, last uint16) []farm.PortRange { return []farm.PortRange{{First: first, Last: last}} }
	first := map[string]func(f *farm.Farm){
		"one port":  func(*farm.Farm) {},
		"a range":   func(f *farm.Farm) { f.L4.Ports = ports(70, 90) },
		"all ports": func(f *farm.Farm) { f.L4.Ports = nil },
		"all":       func(f *farm.Farm) { f.L4.Protocol, f.L4.Ports = farm.L4All, nil },
		"several": func(f *farm.Farm) {
			f.L4.Protocol = farm.L4TCPUDP
			f.L4.Ports = append(ports(53, 53), ports(80, 81)...)
		},
		"udp":     func(f *farm.Farm) { f.L4.Protocol = farm.L4UDP },
		"sctp":    func(f *farm.Farm) { f.L4.Protocol = farm.L4SCTP },
		"another": func(f *farm.Farm) { f.L4.Ports = ports(81, 89) },
		"everywhere": func(f *farm.Farm) {
			f.VIP = netip.IPv4Unspecified()
		},
		"everywhere, a range": func(f *farm.Farm) {
			f.VIP, f.L4.Ports = netip.IPv4Unspecified(), ports(1, 100)
		},
	}
	taken := map[string]bool{"udp": false, "sctp": false, "another": false}
	for name := range first {
		if _, apart := taken[name]; !apart {
			taken[name] = true
		}
	}
	for name, edit := range first {
		for _, six := range []bool{false, true} {
			own := func(f *farm.Farm) {
				edit(f)
				if !six {
					return
				}
				if f.VIP.IsUnspecified() {
					f.VIP = netip.IPv6Unspecified()
				} else {
					f.VIP = netip.MustParseAddr(s.VIP6)
				}
				f.L4.Backends[0].Addr = netip.MustParseAddr(s.Backends[0].V6)
			}
			second := at(func(f *farm.Farm) {
				if six {
					f.VIP, f.L4.Backends[0].Addr = netip.MustParseAddr(s.VIP6), netip.MustParseAddr(s.Backends[0].V6)
				}
			})
			cfg := &farm.Config{Farms: []farm.Farm{second}}
			what := fmt.Sprintf("%s, IPv6 %v", name, six)
			s.as(0, func(ctx context.Context, k *kernel.Reconciler) {
				for _, p := range k.Apply(ctx, 1, &farm.Config{Farms: []farm.Farm{at(own)}}) {
					t.Fatal(what, p)
				}
			})
			s.as(1, func(ctx context.Context, k *kernel.Reconciler) {
				problem := k.Check(ctx, cfg)[second.ID]
				is := strings.Contains(problem, "another instance of Sluice (table inet sluice) has ")
				if is != taken[name] || !is && problem != "" {
					t.Errorf("%s: %q", what, problem)
				}
				stopped := l4test.Stopped(second)
				if p := k.Check(ctx, &farm.Config{Farms: []farm.Farm{stopped}}); len(p) != 0 {
					t.Errorf("%s: a stopped farm: %v", what, p)
				}
			})
		}
	}
}

// A farm that both instances carry already, e.g. because both were started with it, stays. It has
// a warning, and may be edited.
func TestConflictingInstancesCauseWarnings(t *testing.T) {
	s := newInstances(t)
	f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	cfg := &farm.Config{Farms: []farm.Farm{f}}
	for i := range s.both {
		s.as(i, func(ctx context.Context, k *kernel.Reconciler) {
			for _, p := range k.Apply(ctx, 1, cfg) {
				t.Fatal(p)
			}
		})
	}
	warned := func(i int, want string) {
		t.Helper()
		s.as(i, func(context.Context, *kernel.Reconciler) {
			got := strings.Join(warnings(t, s.both[i])[f.ID], "; ")
			if want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("instance %d: warnings %q, want %q", i, got, want)
			}
		})
	}
	warned(0, "another instance of Sluice (table inet sluice_3) has tcp "+s.VIP4+":80 in the kernel, too")
	warned(1, "(table inet sluice) has tcp "+s.VIP4+":80")
	s.as(1, func(ctx context.Context, k *kernel.Reconciler) {
		edited := f.Clone()
		edited.L4.Algorithm = farm.L4RoundRobin
		if p := k.Check(ctx, &farm.Config{Farms: []farm.Farm{edited}}); len(p) != 0 {
			t.Errorf("an edit: %v", p)
		}
	})
	s.as(0, func(ctx context.Context, k *kernel.Reconciler) { k.Apply(ctx, 2, &farm.Config{}) })
	warned(1, "")
}

func TestListenersAvoidFarmsOfOtherInstances(t *testing.T) {
	s := newInstances(t)
	one := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	all := s.Farm(2, farm.L4UDP, farm.NATMasquerade, true, 53)
	all.VIP = netip.IPv6Unspecified()
	s.as(0, func(ctx context.Context, k *kernel.Reconciler) {
		for _, p := range k.Apply(ctx, 1, &farm.Config{Farms: []farm.Farm{one, all}}) {
			t.Fatal(p)
		}
	})
	var r nftables.Rivals
	for at, taken := range map[string]bool{
		"tcp " + s.VIP4 + ":80": true, "udp " + s.VIP4 + ":80": false, "tcp " + s.VIP4 + ":81": false,
		"tcp 0.0.0.0:80": false, "tcp 192.0.2.1:80": false,
		"udp [" + s.VIP6 + "]:53": true, "udp [::]:53": true, "tcp [::]:53": false,
	} {
		network, addr, _ := strings.Cut(at, " ")
		for i := range s.both {
			s.as(i, func(context.Context, *kernel.Reconciler) {
				if why := r.Taken(network, netip.MustParseAddrPort(addr)); (why != "") != (taken && i == 1) {
					t.Errorf("instance %d, %s: %q", i, at, why)
				}
			})
			r = nftables.Rivals{}
		}
	}
}

func warnings(t *testing.T, k *kernel.Reconciler) map[uint32][]string {
	t.Helper()
	state, err := k.Parts()[ctl.OpKernelState](t.Context(), []byte("{}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return state.(ctl.KernelState).Warnings
}
