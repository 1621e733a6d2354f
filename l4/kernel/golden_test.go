package kernel_test

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/sysnet/neigh"
	"github.com/sluicelb/sluice/sysnet/nft"
)

var update = flag.Bool("update", false, "write the golden files")

// example is a farm of two backends that edit changes.
func example(edit func(f *farm.Farm)) farm.Farm {
	l := farm.DefaultL4()
	l.ID, l.DataPath = 12, farm.DataPathKernel
	l.Ports = []farm.PortRange{{First: 80, Last: 80}}
	for i, addr := range []string{"10.0.0.1", "10.0.0.2"} {
		l.Backends = append(l.Backends, farm.Backend{ID: uint32(1 + i), Host: addr, Addr: netip.MustParseAddr(addr), Port: 8080})
	}
	f := farm.Farm{ID: 7, Name: "web", Profile: farm.ProfileL4, VIP: netip.MustParseAddr("192.0.2.1"), L4: l}
	if edit != nil {
		edit(&f)
	}
	return f
}

func six(f *farm.Farm) {
	f.VIP = netip.MustParseAddr("2001:db8::1")
	for i := range f.L4.Backends {
		b := &f.L4.Backends[i]
		b.Addr = netip.MustParseAddr([]string{"fd00::1", "fd00::2"}[i])
	}
}

// onWire has the backends of the examples on two interfaces, the VIPs on one.
func onWire() kernel.Wire {
	out := places{}
	for i, a := range []string{"10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2"} {
		addr := netip.MustParseAddr(a)
		out[addr] = neigh.Place{Addr: addr, MAC: neigh.MAC{2, 0, 0, 0, 0, byte(i + 1)}, Interface: []string{"front", "back.7"}[i%2], Own: neigh.MAC{2, 0, 0, 0, 1, byte(i % 2)}}
	}
	return out
}

// Each configuration has its rules in testdata; -update writes them.
func TestConfigurationsCompileToTheirRules(t *testing.T) {
	cases := map[string]*kernel.Input{
		"nat":  {Farms: []farm.Farm{example(nil)}},
		"none": {Farms: []farm.Farm{example(func(f *farm.Farm) { f.Stopped = true })}},
		"dnat6": {Farms: []farm.Farm{example(func(f *farm.Farm) {
			six(f)
			f.L4.NAT, f.L4.Protocol, f.L4.Algorithm = farm.NATTarget, farm.L4UDP, farm.L4RoundRobin
		})}},
		"weights": {Farms: []farm.Farm{example(func(f *farm.Farm) {
			f.L4.Backends[0].Weight, f.L4.Backends[1].Weight = 6, 4
			f.L4.Backends[0].Source = netip.MustParseAddr("10.0.0.9")
			f.L4.Mark, f.L4.Backends[1].Mark = 5, 6
		})}},
		"ranges": {Farms: []farm.Farm{example(func(f *farm.Farm) {
			f.L4.Ports = []farm.PortRange{{First: 80, Last: 80}, {First: 8000, Last: 8010}}
			f.L4.Backends[1].Port = 0
		})}},
		"all": {Farms: []farm.Farm{example(func(f *farm.Farm) {
			f.L4.Protocol, f.L4.Ports, f.L4.NAT = farm.L4All, nil, farm.NATTarget
		})}},
		"everywhere": {Farms: []farm.Farm{example(func(f *farm.Farm) { f.VIP = netip.IPv4Unspecified() })}},
		"hash":       {Farms: []farm.Farm{example(func(f *farm.Farm) { f.L4.Algorithm = farm.L4HashFlow })}},
		"persistent": {Farms: []farm.Farm{example(func(f *farm.Farm) {
			f.L4.Persist, f.L4.TTL = farm.L4PersistSrcDest, 90
			f.L4.Backends[0].Sessions = []string{"198.51.100.1 . 80"}
		})}},
		"limited": {Farms: []farm.Farm{example(func(f *farm.Farm) {
			f.L4.Backends[0].ConnLimit, f.L4.MaxConnections = 10, 100
		})}},
		"logged": {Farms: []farm.Farm{example(func(f *farm.Farm) { f.L4.Logs, f.L4.LogPrefix = true, "a\"b $c\n;flush ruleset " })}},
		"ftp": {Farms: []farm.Farm{example(func(f *farm.Farm) {
			f.L4.Protocol, f.L4.Ports = farm.L4FTP, []farm.PortRange{{First: 21, Last: 21}}
		})}},
		"sip": {Farms: []farm.Farm{example(func(f *farm.Farm) {
			f.L4.Protocol, f.L4.Ports, f.L4.Backends[0].Port, f.L4.Backends[1].Port = farm.L4SIP, []farm.PortRange{{First: 5060, Last: 5060}}, 0, 0
		})}},
		"tcp_udp": {Farms: []farm.Farm{example(func(f *farm.Farm) {
			f.L4.Protocol, f.L4.Ports, f.L4.Persist = farm.L4TCPUDP, []farm.PortRange{{First: 53, Last: 53}}, farm.L4PersistSrc
		})}},
		"dsr": {Wire: onWire(), Farms: []farm.Farm{example(func(f *farm.Farm) {
			f.L4.NAT, f.L4.Algorithm, f.L4.Persist = farm.NATDirect, farm.L4RoundRobin, farm.L4PersistSrc
			f.L4.Backends[0].Sessions = []string{"198.51.100.1"}
		})}},
		"dsr_all": {Wire: onWire(), Farms: []farm.Farm{example(func(f *farm.Farm) {
			six(f)
			f.L4.NAT, f.L4.Protocol, f.L4.Ports = farm.NATDirect, farm.L4All, nil
		})}},
		"stateless": {Wire: onWire(), Farms: []farm.Farm{example(func(f *farm.Farm) {
			f.L4.NAT, f.L4.Ports = farm.NATStateless, []farm.PortRange{{First: 80, Last: 80}, {First: 8000, Last: 8010}}
			f.L4.Backends[1].Port = 0
		})}},
		"stateless6": {Wire: onWire(), Farms: []farm.Farm{example(func(f *farm.Farm) {
			six(f)
			f.L4.NAT, f.L4.Protocol, f.L4.Persist = farm.NATStateless, farm.L4UDP, farm.L4PersistSrcDest
		})}},
		"down": {Farms: []farm.Farm{example(nil)}, Usable: func(uint32) bool { return false }},
		"drained": {Farms: []farm.Farm{example(func(f *farm.Farm) {
			f.L4.Persist = farm.L4PersistSrc
			f.L4.Backends[0].Maintenance = farm.MaintenanceDrain
		})}},
		"leastconn": {Farms: []farm.Farm{example(func(f *farm.Farm) { f.L4.Algorithm = farm.L4LeastConn })}, Weights: map[uint32]int{1: 3, 2: 7}},
		"transparent": {Transparent: []farm.Farm{example(nil), example(func(f *farm.Farm) {
			f.VIP = netip.MustParseAddr("2001:db8::1")
			f.L4.Backends[0].Addr, f.L4.Backends[1].Addr = netip.MustParseAddr("2001:db8::a"), netip.MustParseAddr("2001:db8::b")
		})}},
	}
	for name, in := range cases {
		t.Run(name, func(t *testing.T) {
			rules, problems := kernel.Compile(in)
			for id, p := range problems {
				t.Errorf("farm %d: %s", id, p)
			}
			got := nft.Load(kernel.Tables(), rules, nil).Text()
			path := filepath.Join("testdata", name+".nft")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s:\n%s", path, got)
			}
		})
	}
}

// nft itself says whether the golden files are what it reads.
func TestGoldenRulesAreTakenByTheKernel(t *testing.T) {
	s := newSite(t, 0)
	s.Appliance.Run("ip", "link", "add", "back.7", "type", "veth", "peer", "name", "far") // packet modes name where they send
	files, err := filepath.Glob("testdata/*.nft")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(f)
		s.Appliance.Feed(string(text), "nft", "-f", "-")
	}
}
