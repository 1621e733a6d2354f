package nftables_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// eachMode runs the test for every NAT type and IP version, see inModes.
func eachMode(t *testing.T, s *packetSite, test func(t *testing.T, f farm.Farm, ask func(client int) string)) {
	inModes(t, s, farm.NATTypes(), test)
}

// inModes runs the test for these NAT types and both IP versions. The farm has two backends
// in turn and keeps clients by address.
func inModes(t *testing.T, s *packetSite, types []farm.NATType, test func(t *testing.T, f farm.Farm, ask func(client int) string)) {
	for _, nat := range types {
		for _, six := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", nat, six), func(t *testing.T) {
				s.t = t
				f := s.farm(7, nat, farm.L4TCP, six, one(80))
				f.L4.DataPath, f.L4.Algorithm, f.L4.Persist, f.L4.TTL = farm.DataPathKernel, farm.L4RoundRobin, farm.L4PersistSrc, 300
				test(t, f, func(client int) string {
					t.Helper()
					a := s.Ask("tcp", netip.AddrPortFrom(clientOf(six, client), 0), netip.AddrPortFrom(f.VIP, 80))
					a.Close()
					return a.Server[1:]
				})
				s.Apply()
			})
		}
	}
}

func clientOf(six bool, n int) netip.Addr {
	if six {
		return netip.MustParseAddr(fmt.Sprintf("fd00:1::%d", 100+n))
	}
	return netip.MustParseAddr(fmt.Sprintf("10.10.1.%d", 100+n))
}

func gateways(s *packetSite) {
	for _, b := range s.Backends {
		b.Run("ip", "route", "replace", "default", "via", "10.10.2.1")
	}
}

func TestUseExtendsSessionsInEveryMode(t *testing.T) {
	s := newPacketSite(t, 2)
	gateways(s)
	var farms []farm.Farm
	for i, nat := range []farm.NATType{farm.NATDirect, farm.NATStateless, farm.NATMasquerade, farm.NATTarget} {
		for _, six := range []bool{false, true} {
			f := s.farm(uint32(2*i+1), nat, farm.L4TCP, six, one(uint16(80+i)))
			if six {
				f = s.farm(uint32(2*i+2), nat, farm.L4TCP, six, one(uint16(80+i)))
			}
			f.L4.DataPath, f.L4.Algorithm, f.L4.Persist, f.L4.TTL = farm.DataPathKernel, farm.L4RoundRobin, farm.L4PersistSrc, 1
			for j := range f.L4.Backends {
				f.L4.Backends[j].Port = 80
			}
			farms = append(farms, f)
		}
	}
	s.Apply(farms...)
	ask := func(f *farm.Farm) string {
		a := s.Ask("tcp", netip.AddrPort{}, netip.AddrPortFrom(f.VIP, f.L4.Ports[0].First))
		a.Close()
		return a.Server
	}
	first := map[uint32]string{}
	for i := range farms {
		first[farms[i].ID] = ask(&farms[i])
	}
	for range 4 { // longer than their timeout, unless used
		time.Sleep(400 * time.Millisecond)
		for i := range farms {
			if again := ask(&farms[i]); again != first[farms[i].ID] {
				t.Errorf("%s %s: used, and gone from %s to %s", farms[i].L4.NAT, farms[i].VIP, first[farms[i].ID], again)
			}
		}
	}
	time.Sleep(1500 * time.Millisecond)
	for i := range farms {
		if again := ask(&farms[i]); again == first[farms[i].ID] {
			t.Errorf("%s %s: still at %s though it was not used for longer than it lives", farms[i].L4.NAT, farms[i].VIP, again)
		}
	}
}

func TestStaticSessionsAndMaintenanceInEveryMode(t *testing.T) {
	s := newPacketSite(t, 2)
	gateways(s)
	eachMode(t, s, func(t *testing.T, f farm.Farm, ask func(int) string) {
		f.L4.Backends[1].Sessions = []string{clientOf(f.VIP.Is6(), 5).String()}
		s.Apply(f)
		of := map[int]string{}
		for c := range 4 {
			of[c] = ask(c)
		}
		for range 4 {
			if at := ask(5); at != "2" {
				t.Errorf("a static session leads to %s, want %s", at, "2")
			}
		}
		drained := f
		drained.L4 = clone(f.L4)
		drained.L4.Backends[0].Maintenance = farm.MaintenanceDrain
		s.Apply(drained)
		for c, was := range of {
			if is := ask(c); is != was {
				t.Errorf("drain moved a known client from %s to %s", was, is)
			}
		}
		for c := 10; c < 14; c++ {
			if at := ask(c); at != "2" {
				t.Errorf("a backend that drains got a new client")
			}
		}
		cut := f
		cut.L4 = clone(f.L4)
		cut.L4.Backends[0].Maintenance = farm.MaintenanceCut
		s.Apply(cut)
		for c := range of {
			if at := ask(c); at != "2" {
				t.Errorf("a backend that was cut got a client")
			}
		}
	})
}

// Tracked connections: TestStopDeleteAndCutEndTheirOwnConnectionsOnly.
func TestCutEndsFlowsOfPacketModesAtOnce(t *testing.T) {
	s := newPacketSite(t, 2)
	gateways(s)
	inModes(t, s, []farm.NATType{farm.NATDirect, farm.NATStateless}, func(t *testing.T, f farm.Farm, _ func(int) string) {
		f.L4.Persist = farm.L4PersistNone
		s.Apply(f)
		at := map[string]interface{ Again(string) error }{}
		for len(at) < 2 {
			a := s.Ask("tcp", netip.AddrPort{}, netip.AddrPortFrom(f.VIP, 80))
			at[a.Server[1:]] = a
		}
		cut := f
		cut.L4 = clone(f.L4)
		cut.L4.Backends[0].Maintenance = farm.MaintenanceCut
		s.Apply(cut)
		if err := at["1"].Again("cut"); err == nil {
			t.Error("a connection to the cut backend continues")
		}
		if err := at["2"].Again("goes on"); err != nil {
			t.Errorf("a connection to the other backend: %v", err)
		}
	})
}
