package kernel

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/icmp"
	"github.com/sluicelb/sluice/sysnet/neigh"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// taking is a Filter that takes everything.
type taking struct{ Unable }

func (taking) Carry(context.Context, *rules.Input) (map[uint32]string, error) { return nil, nil }

// there are neighbours that are all known.
type there []neigh.Place

func (t there) Want([]netip.Addr)        {}
func (t there) Changed() <-chan struct{} { return nil }
func (t there) Places() map[netip.Addr]neigh.Place {
	out := map[netip.Addr]neigh.Place{}
	for _, p := range t {
		out[p.Addr] = p
	}
	return out
}

var (
	errandVIP    = netip.MustParseAddr("192.0.2.200")
	errandClient = netip.MustParseAddrPort("198.51.100.7:4000")
	errandServer = netip.MustParseAddr("192.0.2.11")
)

// packets is a farm of a packet mode with one backend.
func packets(id uint32, nat farm.NATType, protocol farm.L4Protocol, ports ...farm.PortRange) farm.Farm {
	l := farm.DefaultL4()
	l.ID, l.NAT, l.Protocol, l.Ports, l.DataPath = id, nat, protocol, ports, farm.DataPathKernel
	l.Backends = []farm.Backend{{ID: 1000 + id, Host: errandServer.String(), Addr: errandServer}}
	return farm.Farm{ID: id, Name: fmt.Sprintf("farm%d", id), Profile: farm.ProfileL4, VIP: errandVIP, L4: l}
}

// carrying is a keeper that carries those farms.
func carrying(t *testing.T, farms ...farm.Farm) *Keeper {
	t.Helper()
	k := New(Options{Filter: taking{}, Log: slog.New(slog.DiscardHandler),
		Neighbours: there{{Addr: errandServer, MAC: neigh.MAC{2, 0, 0, 0, 0, 1}, Interface: "lo", Own: neigh.MAC{2, 0, 0, 0, 0, 2}}}})
	if problems := k.Apply(t.Context(), 1, &farm.Config{Farms: farms}); len(problems) > 0 {
		t.Fatal(problems)
	}
	return k
}

// errorAbout is an error about what a client was sent from a port of the VIP.
func errorAbout(port uint16) *icmp.Message {
	return &icmp.Message{From: errandServer, To: errandVIP, Protocol: icmp.TCP, Src: netip.AddrPortFrom(errandVIP, port), Dst: errandClient}
}

// markOf is the mark of a backend, as maps have it.
func markOf(backend uint32) []byte {
	return binary.NativeEndian.AppendUint32(nil, rules.Mark(backend))
}

// Anybody may send errors: they hold up no change, and a change does not hold up
// them.
func TestErrorsWaitForNoChange(t *testing.T) {
	k := carrying(t, packets(1, farm.NATDirect, farm.L4TCP, farm.PortRange{First: 80, Last: 80}))
	k.mu.Lock()
	defer k.mu.Unlock()
	done := make(chan bool)
	go func() {
		_, ok := k.errand(errorAbout(80), func(nft.ID, []byte) ([]byte, bool, error) { return markOf(1001), true, nil })
		done <- ok
	}()
	select {
	case ok := <-done:
		if !ok {
			t.Error("it concerns nobody")
		}
	case <-time.After(5 * time.Second):
		t.Fatal("it waits for a change that is under way")
	}
}

func TestErrorsFindTheMostPreciseFarmOfMany(t *testing.T) {
	var farms []farm.Farm
	for i := range 500 {
		port := uint16(1000 + i)
		farms = append(farms, packets(uint32(10+i), farm.NATDirect, farm.L4TCP, farm.PortRange{First: port, Last: port}))
	}
	farms = append(farms, packets(1, farm.NATDirect, farm.L4TCP, farm.PortRange{First: 1500, Last: 1600}),
		packets(2, farm.NATDirect, farm.L4All), packets(3, farm.NATDirect, farm.L4UDP, farm.PortRange{First: 1400, Last: 1400}))
	stopped := packets(4, farm.NATDirect, farm.L4TCP, farm.PortRange{First: 1700, Last: 1700})
	stopped.Stopped = true
	k := carrying(t, append(farms, stopped)...)
	for port, want := range map[uint16][]uint32{1400: {410, 2}, 1550: {1, 2}, 1700: {2}} {
		for n := range want { // the flow is of the n-th that is asked
			var asked []string
			_, ok := k.errand(errorAbout(port), func(id nft.ID, _ []byte) ([]byte, bool, error) {
				asked = append(asked, id.Name)
				if len(asked) <= n {
					return nil, false, nil
				}
				return markOf(1000 + want[n]), true, nil
			})
			var names []string
			for i := range farms {
				if slices.Contains(want[:n+1], farms[i].ID) {
					names = append(names, rules.Flows(&farms[i]).Name)
				}
			}
			slices.Sort(names)
			if slices.Sort(asked); !ok || !slices.Equal(asked, names) {
				t.Errorf("port %d: %v, asked were %v, not %v", port, ok, asked, names)
			}
		}
	}
	if _, ok := k.errand(errorAbout(1400), func(nft.ID, []byte) ([]byte, bool, error) { return markOf(1411), true, nil }); ok {
		t.Error("a flow names a backend of another farm")
	}
}

func TestErrorsOfNobodyAreLeftAlone(t *testing.T) {
	k := carrying(t, packets(1, farm.NATDirect, farm.L4TCP, farm.PortRange{First: 80, Last: 80}))
	other := errorAbout(80)
	other.To = netip.MustParseAddr("192.0.2.201")
	for _, m := range []*icmp.Message{other, errorAbout(81)} {
		if _, ok := k.errand(m, func(nft.ID, []byte) ([]byte, bool, error) { t.Error("a flow is looked for"); return nil, false, nil }); ok {
			t.Error("it concerns somebody")
		}
	}
	k.Apply(t.Context(), 2, &farm.Config{})
	if _, ok := k.errand(errorAbout(80), func(nft.ID, []byte) ([]byte, bool, error) { return markOf(1001), true, nil }); ok || k.packetModes() {
		t.Error("without a farm it concerns somebody")
	}
}
