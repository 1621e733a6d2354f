package nftables_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/nftables"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

func (s *packetSite) Ask(network string, from netip.AddrPort, to netip.AddrPort) *housetest.Answer {
	s.t.Helper()
	a, err := s.Client.Ask(network, from, to.String())
	if err != nil {
		s.t.Fatalf("%v\n%s", err, s.Appliance.Run("nft", "list", "ruleset"))
	}
	s.t.Cleanup(a.Close)
	return a
}

// eachFamily runs the test for both IP versions.
func eachFamily(t *testing.T, test func(t *testing.T, six bool)) {
	t.Run("v4", func(t *testing.T) { test(t, false) })
	t.Run("v6", func(t *testing.T) { test(t, true) })
}

func TestStatelessRewritesPortsBothWaysWithRightChecksums(t *testing.T) {
	for _, offloads := range []bool{true, false} {
		s := newPacketSite(t, 1)
		if !offloads {
			for _, l := range []*housetest.Link{s.FrontLink, s.BackLink, s.ClientLinks[0], s.Backends[0].Link} {
				l.Plain()
			}
		}
		eachFamily(t, func(t *testing.T, six bool) {
			s.t = t
			f := s.farm(7, farm.NATStateless, farm.L4TCP, six, one(80), one(81), farm.PortRange{First: 9000, Last: 9010})
			f.L4.Backends[0].Port = 8080
			g := s.farm(8, farm.NATStateless, farm.L4UDP, six, one(80), farm.PortRange{First: 9000, Last: 9010})
			g.L4.Backends[0].Port = 8080
			k := s.farm(9, farm.NATStateless, farm.L4TCP, six, one(8080))
			s.Apply(f, g, k)
			at, back := s.ClientLinks[0].Capture(), s.Backends[0].Link.Capture()
			// The same client port to different ports of the VIP at once.
			from := netip.AddrPortFrom(netip.MustParseAddr("10.10.1.100"), 4711)
			if six {
				from = netip.AddrPortFrom(netip.MustParseAddr("fd00:1::100"), 4711)
			}
			for _, c := range []struct {
				network string
				port    uint16
			}{{"tcp", 80}, {"tcp", 9003}, {"udp", 80}, {"udp", 9010}} {
				from := netip.AddrPortFrom(from.Addr(), from.Port()+c.port)
				to := netip.AddrPortFrom(f.VIP, c.port)
				a := s.Ask(c.network, from, to)
				if a.From != from || a.To != netip.AddrPortFrom(f.L4.Backends[0].Addr, 8080) {
					t.Errorf("%s: %+v", c.network, a.Seen)
				}
				if err := a.Again(strings.Repeat("y", 50_000)); err != nil && c.network == "tcp" {
					t.Error(err)
				}
			}
			if a := s.Ask("tcp", netip.AddrPortFrom(from.Addr(), 5000), netip.AddrPortFrom(f.VIP, 8080)); a.To.Port() != 8080 {
				t.Errorf("%+v", a.Seen)
			}
			if out := s.Appliance.Run("conntrack", "-L", "-f", map[bool]string{false: "ipv4", true: "ipv6"}[six]); strings.TrimSpace(out) != "" {
				t.Errorf("connections are tracked:\n%s", out)
			}
			mac := s.FrontLink.MAC
			n := 0
			for _, fr := range at.Stop() {
				if fr.Protocol != "tcp" && fr.Protocol != "udp" {
					continue
				}
				n++
				if fr.Src.Addr() == f.VIP && !bytes.Equal(fr.SrcMAC, mac) || fr.Dst.Addr() == f.VIP && !bytes.Equal(fr.DstMAC, mac) {
					t.Errorf("at the client: %v %v → %v %v", fr.SrcMAC, fr.Src, fr.DstMAC, fr.Dst)
				}
				if fr.Src.Addr() != f.VIP && fr.Dst.Addr() != f.VIP {
					t.Errorf("at the client: %v → %v", fr.Src, fr.Dst)
				}
				if bad := fr.BadChecksums(); bad != nil && !offloads {
					t.Errorf("at the client: %v → %v: %v", fr.Src, fr.Dst, bad)
				}
			}
			for _, fr := range back.Stop() {
				if fr.Protocol != "tcp" && fr.Protocol != "udp" {
					continue
				}
				n++
				if !fr.Outgoing && (fr.DstMAC.String() != s.Backends[0].Link.MAC.String() || fr.SrcMAC.String() != s.BackLink.MAC.String() || fr.Dst.Port() != 8080) {
					t.Errorf("at the backend: %v %v → %v %v", fr.SrcMAC, fr.Src, fr.DstMAC, fr.Dst)
				}
				if bad := fr.BadChecksums(); bad != nil && !offloads {
					t.Errorf("at the backend: %v → %v: %v", fr.Src, fr.Dst, bad)
				}
			}
			if n < 40 {
				t.Errorf("only %d frames", n)
			}
		})
	}
}

func TestDirectRewritesOnlyMACAddresses(t *testing.T) {
	s := newPacketSite(t, 1)
	for _, l := range []*housetest.Link{s.FrontLink, s.ClientLinks[0], s.Direct[0].Link} {
		l.Plain()
	}
	eachFamily(t, func(t *testing.T, six bool) {
		s.t = t
		var farms []farm.Farm
		for i, protocol := range []farm.L4Protocol{farm.L4TCP, farm.L4UDP} {
			f := s.farm(uint32(7+i), farm.NATDirect, protocol, six, one(80))
			f.L4.Backends[0].Port = 8080 // ignored
			farms = append(farms, f)
		}
		s.Apply(farms...)
		at, back := s.FrontLink.Capture(), s.Direct[0].Link.Capture()
		to := netip.AddrPortFrom(farms[0].VIP, 80)
		for _, network := range []string{"tcp", "udp"} {
			a := s.Ask(network, netip.AddrPort{}, to)
			if a.To != to || a.From != a.Local {
				t.Errorf("%s: %+v", network, a.Seen)
			}
			if err := a.Again("again"); err != nil {
				t.Error(err)
			}
			a.Close()
		}
		in, n := map[string]bool{}, 0
		for _, fr := range back.Stop() {
			if fr.Protocol != "tcp" && fr.Protocol != "udp" {
				continue
			}
			n++
			if bad := fr.BadChecksums(); bad != nil {
				t.Errorf("%v → %v: got %v, want nil", fr.Src, fr.Dst, bad)
			}
			switch {
			case fr.Outgoing && fr.DstMAC.String() != s.ClientLinks[0].MAC.String():
				t.Errorf("answer to %v goes to %v", fr.Dst, fr.DstMAC)
			case !fr.Outgoing && (fr.SrcMAC.String() != s.FrontLink.MAC.String() || fr.DstMAC.String() != s.Direct[0].Link.MAC.String()):
				t.Errorf("%v %v → %v %v", fr.SrcMAC, fr.Src, fr.DstMAC, fr.Dst)
			case !fr.Outgoing:
				in[string(fr.Packet.LinkLayer().LayerPayload())] = true
			}
		}
		for _, fr := range at.Stop() {
			if (fr.Protocol == "tcp" || fr.Protocol == "udp") && !fr.Outgoing {
				if fr.Src.Addr() == farms[0].VIP {
					t.Errorf("an answer came through: %v → %v", fr.Src, fr.Dst)
				} else if !in[string(fr.Packet.LinkLayer().LayerPayload())] {
					t.Errorf("altered, or not passed on: %v → %v", fr.Src, fr.Dst)
				}
			}
		}
		if n < 10 {
			t.Errorf("only %d frames", n)
		}
	})
}

func TestFragmentsFollowTheFirst(t *testing.T) {
	s := newPacketSite(t, 2)
	for _, devices := range [][]string{{"front"}, {"front", "back"}} { // replies arrive by the same device as packets for the VIP
		s.devices = devices
		for _, nat := range []farm.NATType{farm.NATDirect, farm.NATStateless} {
			eachFamily(t, func(t *testing.T, six bool) {
				s.t = t
				f := s.farm(7, nat, farm.L4UDP, six, one(80), one(81))
				f.L4.Algorithm = farm.L4RoundRobin
				if nat == farm.NATStateless {
					f.L4.Backends[0].Port, f.L4.Backends[1].Port = 8080, 8080
				}
				s.Apply(f)
				for i := range 8 {
					a := s.Ask("udp", netip.AddrPort{}, netip.AddrPortFrom(f.VIP, 80+uint16(i%2)))
					if err := a.Again(strings.Repeat("z", 20_000)); err != nil {
						t.Errorf("%s, arriving by %v: %v", nat, devices, err)
					}
				}
			})
		}
	}
}

func TestFlowsStayWhenBackendsComeAndGo(t *testing.T) {
	s := newPacketSite(t, 3)
	for _, nat := range []farm.NATType{farm.NATDirect, farm.NATStateless} {
		eachFamily(t, func(t *testing.T, six bool) {
			s.t = t
			f := s.farm(7, nat, farm.L4TCP, six, one(80))
			f.L4.Algorithm = farm.L4RoundRobin
			s.Apply(f)
			open := map[string]*housetest.Answer{}
			for len(open) < 3 {
				a := s.Ask("tcp", netip.AddrPort{}, netip.AddrPortFrom(f.VIP, 80))
				open[a.Server] = a
			}
			gone := open[string("db"[map[farm.NATType]int{farm.NATDirect: 0, farm.NATStateless: 1}[nat]])+"2"]
			g := f
			g.L4 = clone(f.L4)
			g.L4.Backends = append(g.L4.Backends[:1:1], g.L4.Backends[2:]...)
			s.Apply(g)
			for name, a := range open {
				if err := a.Again("still here"); (err == nil) != (a != gone) {
					t.Errorf("%s %s: %v", nat, name, err)
				}
			}
			d := f
			d.L4 = clone(f.L4)
			d.L4.Backends[0].Maintenance = farm.MaintenanceDrain
			s.Apply(d)
			for name, a := range open {
				if a != gone {
					if err := a.Again("still here"); err != nil {
						t.Errorf("drained: %s %s: %v", nat, name, err)
					}
				}
			}
			for range 6 {
				if a := s.Ask("tcp", netip.AddrPort{}, netip.AddrPortFrom(f.VIP, 80)); strings.HasSuffix(a.Server, "1") {
					t.Errorf("a drained backend got a new connection")
				}
			}
			none := f
			none.L4 = clone(f.L4)
			none.L4.Backends = nil
			s.Apply(none)
			if _, err := s.Client.Ask("tcp", netip.AddrPort{}, netip.AddrPortFrom(f.VIP, 80).String()); err == nil || !strings.Contains(err.Error(), "refused") {
				t.Errorf("without a backend: %v", err)
			}
		})
	}
}

func clone(l *farm.L4) *farm.L4 {
	f := farm.Config{Farms: []farm.Farm{{L4: l}}}
	return f.Clone().Farms[0].L4
}

func TestEachPersistenceKeepsClientsInPacketModes(t *testing.T) {
	s := newPacketSite(t, 2)
	for _, nat := range []farm.NATType{farm.NATDirect, farm.NATStateless} {
		for _, persist := range farm.L4Persistences() {
			t.Run(fmt.Sprintf("%s/%s", nat, persist), func(t *testing.T) {
				eachFamily(t, func(t *testing.T, six bool) {
					s.t = t
					f := s.farm(7, nat, farm.L4TCP, six, one(80), one(81))
					f.L4.Algorithm, f.L4.Persist = farm.L4RoundRobin, persist
					s.Apply(f)
					of := map[string]string{}
					for i := range 12 {
						host, port := 100+i%3, 20000+i%4
						text := fmt.Sprintf("10.10.1.%d", host)
						if six {
							text = fmt.Sprintf("fd00:1::%d", host)
						}
						from := netip.AddrPortFrom(netip.MustParseAddr(text), uint16(port))
						to := netip.AddrPortFrom(f.VIP, 80+uint16(i%2))
						a := s.Ask("tcp", from, to)
						a.Close()
						key := map[farm.L4Persistence]string{
							farm.L4PersistSrc: text, farm.L4PersistSrcPt: fmt.Sprint(port), farm.L4PersistMAC: "", farm.L4PersistDst: "",
							farm.L4PersistDstPt: fmt.Sprint(to.Port()), farm.L4PersistSrcSrc: from.String(), farm.L4PersistSrcDest: fmt.Sprint(text, to.Port()),
						}[persist]
						if was := of[key]; was != "" && was != a.Server {
							t.Errorf("%q was at %s, now at %s", key, was, a.Server)
						}
						of[key] = a.Server
					}
					used := map[string]bool{}
					for _, b := range of {
						used[b] = true
					}
					if len(of) > 1 && len(used) != 2 {
						t.Errorf("not shared: %v", of)
					}
				})
			})
		}
	}
}

func TestFarmsWithFlowsChangeTheirMode(t *testing.T) {
	s := newPacketSite(t, 2)
	run := nftables.New(s.run, l4test.Quiet)
	for _, six := range []bool{false, true} {
		for _, protocol := range []farm.L4Protocol{farm.L4TCP, farm.L4All, farm.L4UDP} {
			for _, nat := range []farm.NATType{farm.NATDirect, farm.NATStateless} {
				for _, persist := range []farm.L4Persistence{farm.L4PersistNone, farm.L4PersistSrcSrc} {
					f := s.farm(7, nat, protocol, six)
					f.L4.Persist = persist
					var problems map[uint32]string
					var err error
					s.Appliance.Do(func() {
						problems, err = run.Carry(t.Context(), &rules.Input{Farms: []farm.Farm{f}, Wire: s.hops})
					})
					if err != nil || len(problems) > 0 {
						t.Fatalf("%s %s: %v, %v", nat, protocol, problems, err)
					}
					network := map[farm.L4Protocol]string{farm.L4UDP: "udp"}[protocol]
					if network == "" {
						network = "tcp"
					}
					for range 3 {
						s.Ask(network, netip.AddrPort{}, netip.AddrPortFrom(f.VIP, 80))
					}
					run = nftables.New(s.run, l4test.Quiet) // does not know the existing rules
				}
			}
		}
	}
}
