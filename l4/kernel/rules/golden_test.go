package rules_test

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/housetest"
	"github.com/sluicelb/sluice/sysnet/nft"
)

var update = flag.Bool("update", false, "write the golden files")

// The rules of each configuration are in testdata; -update writes them.
func TestConfigurationsCompileToTheirRules(t *testing.T) {
	cases := map[string]*rules.Input{
		"nat":  {Farms: []farm.Farm{l4test.Example(nil)}},
		"none": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) { f.Stopped = true })}},
		"dnat6": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			l4test.Six(f)
			f.L4.NAT, f.L4.Protocol, f.L4.Algorithm = farm.NATTarget, farm.L4UDP, farm.L4RoundRobin
		})}},
		"weights": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			f.L4.Backends[0].Weight, f.L4.Backends[1].Weight = 6, 4
			f.L4.Backends[0].Source = netip.MustParseAddr("10.0.0.9")
			f.L4.Mark, f.L4.Backends[1].Mark = 5, 6
		})}},
		"ranges": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			f.L4.Ports = []farm.PortRange{{First: 80, Last: 80}, {First: 8000, Last: 8010}}
			f.L4.Backends[1].Port = 0
		})}},
		"all": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			f.L4.Protocol, f.L4.Ports, f.L4.NAT = farm.L4All, nil, farm.NATTarget
		})}},
		"everywhere": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) { f.VIP = netip.IPv4Unspecified() })}},
		"hash":       {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) { f.L4.Algorithm = farm.L4HashFlow })}},
		"persistent": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			f.L4.Persist, f.L4.TTL = farm.L4PersistSrcDest, 90
			f.L4.Backends[0].Sessions = []string{"198.51.100.1 . 80"}
		})}},
		"persistent6": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			l4test.Six(f)
			f.L4.Persist, f.L4.NAT = farm.L4PersistSrcSrc, farm.NATTarget
			f.L4.Backends[1].Sessions = []string{"2001:db8::7 . 4000"}
		})}},
		"remembering": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) { f.Stopped, f.L4.Persist = true, farm.L4PersistMAC })}, Hold: true},
		"flushed": {Wire: onWire(), Flushed: map[uint32]bool{7: true, 8: true}, Farms: []farm.Farm{l4test.Example(nil), l4test.Example(func(f *farm.Farm) {
			f.ID, f.L4.NAT, f.L4.Ports[0] = 8, farm.NATDirect, farm.PortRange{First: 81, Last: 81}
		})}},
		"spilling": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			f.L4.Backends[0].ConnLimit, f.L4.Backends[1].ConnLimit, f.L4.Persist = 10, 20, farm.L4PersistSrc
		})}},
		"limited": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			f.L4.Backends[0].ConnLimit, f.L4.MaxConnections = 10, 100
		})}},
		"logged": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) { f.L4.Logs, f.L4.LogPrefix = true, "a\"b $c\n;flush ruleset " })}},
		"ftp": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			f.L4.Protocol, f.L4.Ports = farm.L4FTP, []farm.PortRange{{First: 21, Last: 21}}
		})}},
		"sip": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			f.L4.Protocol, f.L4.Ports, f.L4.Backends[0].Port, f.L4.Backends[1].Port = farm.L4SIP, []farm.PortRange{{First: 5060, Last: 5060}}, 0, 0
		})}},
		"tcp_udp": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			f.L4.Protocol, f.L4.Ports, f.L4.Persist = farm.L4TCPUDP, []farm.PortRange{{First: 53, Last: 53}}, farm.L4PersistSrc
		})}},
		"sctp": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) { f.L4.Protocol = farm.L4SCTP })}},
		"dsr": {Wire: onWire(), Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			f.L4.NAT, f.L4.Algorithm, f.L4.Persist = farm.NATDirect, farm.L4RoundRobin, farm.L4PersistSrc
			f.L4.Backends[0].Sessions = []string{"198.51.100.1"}
		})}},
		"dsr_all": {Wire: onWire(), Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			l4test.Six(f)
			f.L4.NAT, f.L4.Protocol, f.L4.Ports = farm.NATDirect, farm.L4All, nil
		})}},
		"stateless": {Wire: onWire(), Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			f.L4.NAT, f.L4.Ports = farm.NATStateless, []farm.PortRange{{First: 80, Last: 80}, {First: 8000, Last: 8010}}
			f.L4.Backends[1].Port = 0
		})}},
		"stateless6": {Wire: onWire(), Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			l4test.Six(f)
			f.L4.NAT, f.L4.Protocol, f.L4.Persist = farm.NATStateless, farm.L4UDP, farm.L4PersistSrcDest
		})}},
		"down": {Farms: []farm.Farm{l4test.Example(nil)}, Usable: func(uint32) bool { return false }},
		"drained": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			f.L4.Persist = farm.L4PersistSrc
			f.L4.Backends[0].Maintenance = farm.MaintenanceDrain
		})}},
		"leastconn": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) { f.L4.Algorithm = farm.L4LeastConn })}, Weights: map[uint32]int{1: 3, 2: 7}},
		"transparent": {Transparent: []farm.Farm{l4test.Example(nil), l4test.Example(func(f *farm.Farm) {
			f.VIP = netip.MustParseAddr("2001:db8::1")
			f.L4.Backends[0].Addr, f.L4.Backends[1].Addr = netip.MustParseAddr("2001:db8::a"), netip.MustParseAddr("2001:db8::b")
		})}},
		"transparent4": {Transparent: []farm.Farm{l4test.Example(nil)}},
		"sane": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			f.L4.Protocol, f.L4.Ports = farm.L4SANE, []farm.PortRange{{First: 6566, Last: 6566}}
		})}},
		"all_ports": {Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) { f.L4.Protocol, f.L4.Ports = farm.L4SCTP, nil })}},
		"dsr_marked": {Wire: onWire(), Farms: []farm.Farm{direct(func(f *farm.Farm) {
			f.L4.Mark, f.L4.Backends[1].Mark = 5, 6
			f.L4.Logs, f.L4.IdleTimeout = true, 90
		})}},
		"dsr_nowhere": {Wire: hops{devices: []string{"front"}}, Farms: []farm.Farm{direct(nil)}},
		"stateless_down": {Wire: onWire(), Usable: func(uint32) bool { return false }, Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			f.L4.NAT, f.L4.Protocol, f.L4.Ports = farm.NATStateless, farm.L4All, nil
		})}},
		"stateless6_ports": {Wire: onWire(), Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) {
			l4test.Six(f)
			f.L4.NAT, f.L4.Protocol, f.L4.Ports = farm.NATStateless, farm.L4TCPUDP, []farm.PortRange{{First: 80, Last: 80}, {First: 8000, Last: 8010}}
			f.L4.Backends[1].Mark = 6
		})}},
	}
	for name, in := range cases {
		t.Run(name, func(t *testing.T) {
			set, problems := rules.Compile(in)
			for id, p := range problems {
				t.Errorf("farm %d: %s", id, p)
			}
			got := nft.Load(rules.Tables(), set, nil).Text()
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

// nft itself accepts the golden files.
func TestKernelAcceptsGoldenRules(t *testing.T) {
	if _, err := nft.Find(); err != nil {
		t.Skip(err)
	}
	s := housetest.Plan{Clients: 1}.Build(housetest.New(t))
	s.Appliance.Run("ip", "link", "add", "back.7", "type", "veth", "peer", "name", "far") // rules of packet modes name their interfaces
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
