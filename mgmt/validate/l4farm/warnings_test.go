package l4farm_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
	"pgregory.net/rapid"
)

func TestIneffectiveSettingsOfAnL4FarmGetAWarning(t *testing.T) {
	dsr := func(l *farm.L4) { l.NAT, l.Backends = farm.NATDirect, l.Backends[:1] }
	for name, c := range map[string]struct {
		set  func(f *farm.Farm, l *farm.L4)
		want string // all warnings
	}{
		"nothing": {func(*farm.Farm, *farm.L4) {}, ""},
		"times of the engine": {func(_ *farm.Farm, l *farm.L4) {
			l.DataPath, l.ConnectTimeout, l.IdleTimeout, l.ResurrectTime, l.StopGrace = farm.DataPathKernel, 1, 1, 1, 1
		},
			`farm "relay": contimeout has no effect: the farm runs in the kernel (datapath says so)
farm "relay": idle_timeout has no effect: the farm runs in the kernel (datapath says so)
farm "relay": resurrectime has no effect: the farm runs in the kernel (datapath says so)`},
		"a grace without tracking": {func(_ *farm.Farm, l *farm.L4) {
			l.NAT, l.StopGrace, l.Backends = farm.NATStateless, 5, l.Backends[:1]
		}, `farm "relay": grace has no effect: nattype stateless_dnat counts no connections`},
		"flows without tracking": {func(_ *farm.Farm, l *farm.L4) {
			l.NAT, l.IdleTimeout, l.Backends = farm.NATStateless, 5, l.Backends[:1]
		}, ""},
		"a log of the engine": {func(_ *farm.Farm, l *farm.L4) {
			l.DataPath, l.Logs, l.AccessLog = farm.DataPathKernel, true, farm.AccessLog{Sink: farm.LogSyslog, Sample: 5,
				Fields: []farm.LogField{farm.LogBackend}}
		}, `farm "relay": log_fields has no effect: the farm runs in the kernel (datapath says so)
farm "relay": log_sample has no effect: the farm runs in the kernel (datapath says so)
farm "relay": log_sink has no effect: the farm runs in the kernel (datapath says so)`},
		"connects of datagrams": {func(_ *farm.Farm, l *farm.L4) { l.Protocol, l.ConnectTimeout, l.IdleTimeout = farm.L4UDP, 1, 1 }, `farm "relay": contimeout has no effect: protocol udp makes no connections`},
		"lines of the kernel":   {func(_ *farm.Farm, l *farm.L4) { l.Logs, l.LogPrefix = true, "x" }, `farm "relay": log_prefix has no effect: userspace writes no lines of the kernel's log; see log_sink`},
		"trust":                 {func(_ *farm.Farm, l *farm.L4) { l.Trusted = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} }, `farm "relay": trusted has no effect: proxyprotocol_in is off`},
		"a port in dsr":         {func(_ *farm.Farm, l *farm.L4) { dsr(l) }, `farm "relay" backend 0: port 80 has no effect: nattype dsr leaves packets as they are, backends get the port the client used`},
		"the only port in dsr":  {func(_ *farm.Farm, l *farm.L4) { dsr(l); l.Ports = validatetest.Ports(80, 80) }, ""},
		"limits without tracking": {func(_ *farm.Farm, l *farm.L4) {
			l.NAT, l.MaxConnections, l.Backends = farm.NATStateless, 5, l.Backends[:1]
			l.Backends[0].ConnLimit = 5
		}, `farm "relay": maxconnections has no effect: nattype stateless_dnat counts no connections
farm "relay" backend 0: max_conns has no effect: nattype stateless_dnat counts no connections`},
		"helpers without tracking": {func(_ *farm.Farm, l *farm.L4) {
			dsr(l)
			l.Protocol, l.Ports, l.Backends[0].Port = farm.L4FTP, validatetest.Ports(21, 21), 0
		},
			`farm "relay": protocol ftp acts as tcp: helpers read tracked connections, and nattype dsr has none`},
		"two transports": {func(_ *farm.Farm, l *farm.L4) {
			dsr(l)
			l.Protocol, l.Ports, l.Backends[0].Port = farm.L4H323, validatetest.Ports(1720, 1720), 0
		}, `protocol h323 acts as tcp and udp`},
		"no neighbour": {func(_ *farm.Farm, l *farm.L4) {
			dsr(l)
			l.Backends[0] = farm.Backend{Host: "192.0.2.1", Addr: validatetest.Addr("192.0.2.1")}
		},
			`farm "relay" backend 0: ip 192.0.2.1 is in no network of this machine: nattype dsr sends packets to the MAC address of a neighbour`},
		"no neighbour without tracking": {func(_ *farm.Farm, l *farm.L4) {
			l.NAT, l.Backends = farm.NATStateless, []farm.Backend{{Host: "192.0.2.1", Addr: validatetest.Addr("192.0.2.1")}}
		}, `farm "relay" backend 0: ip 192.0.2.1 is in no network of this machine: nattype stateless_dnat sends packets to the MAC address of a neighbour`},
		"loopback in the kernel": {func(_ *farm.Farm, l *farm.L4) {
			l.NAT, l.Backends = farm.NATTarget, []farm.Backend{{Host: "127.0.0.1", Addr: validatetest.Addr("127.0.0.1"), Port: 8080}}
		}, `farm "relay" backend 0: ip 127.0.0.1 is of this machine, and its kernel forwards no packets of others there; use another of its addresses`},
		"no check in the kernel": {func(_ *farm.Farm, l *farm.L4) { l.DataPath, l.Check = farm.DataPathKernel, "" },
			`farm "relay": no health check: the kernel, which carries the farm, does not notice failures, and a backend that is down keeps getting clients; link a check`},
		"no check in userspace": {func(_ *farm.Farm, l *farm.L4) { l.Check = "" }, ""},
		"a loopback address in the kernel": {func(f *farm.Farm, l *farm.L4) {
			l.DataPath, f.VIP = farm.DataPathKernel, validatetest.Addr("127.0.0.9")
		},
			`farm "relay": vip 127.0.0.9 does not serve clients on this machine: `},
		"a loopback address of IPv6 in the kernel": {func(f *farm.Farm, l *farm.L4) {
			l.NAT, f.VIP, l.Backends = farm.NATTarget, validatetest.Addr("::1"), []farm.Backend{{Host: "2001:db8::1", Addr: validatetest.Addr("2001:db8::1")}}
		}, `farm "relay": vip ::1 does not serve clients on this machine: `},
		"a loopback address in userspace": {func(f *farm.Farm, _ *farm.L4) { f.VIP = validatetest.Addr("127.0.0.9") }, ""},
		"every address of IPv6": {func(f *farm.Farm, l *farm.L4) {
			f.VIP, l.Backends = validatetest.Addr("::"), []farm.Backend{{Host: "2001:db8::1", Addr: validatetest.Addr("2001:db8::1")}}
		}, `farm "relay": vip :: serves clients by IPv6 only; clients by IPv4 need a second farm with vip 0.0.0.0`},
		"priority": {func(_ *farm.Farm, l *farm.L4) { l.Backends[1].Priority = 5 }, `farm "relay" backend 1: priority 5 will never be used: with the priorities of the other backends at most 4 is reached`},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := validatetest.GoodL4()
			c.set(&cfg.Farms[0], cfg.Farms[0].L4)
			if err := validatetest.Rules.Config(cfg); err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, w := range validatetest.Rules.Warnings(cfg) {
				lines = append(lines, w.Error())
				if w.Field == "" {
					t.Errorf("no field: %v", w)
				}
			}
			if got := strings.Join(lines, "\n"); got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A backend gets the warning if and only if its priority is reached for no set of unusable
// backends.
func TestL4PriorityWarningsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := farm.DefaultL4()
		for range rapid.IntRange(1, 7).Draw(t, "backends") {
			l.Backends = append(l.Backends, farm.Backend{Priority: uint8(rapid.IntRange(0, 9).Draw(t, "priority"))})
		}
		used := make([]bool, len(l.Backends))
		for down := range 1 << len(l.Backends) {
			level := 1
			for {
				unusable := 0
				for i := range l.Backends {
					if down>>i&1 == 1 && l.Backends[i].EffectivePriority() == level {
						unusable++
					}
				}
				if unusable == 0 {
					break
				}
				level += unusable
			}
			for i := range l.Backends {
				used[i] = used[i] || down>>i&1 == 0 && l.Backends[i].EffectivePriority() <= level
			}
		}
		f := farm.Farm{L4: l}
		for i := range l.Backends {
			if text := validate.GroupPriorityWarning(f.Groups()[0], i); (text == "") != used[i] {
				t.Fatalf("backend %d of %v: used %v, warning %q", i, l.Backends, used[i], text)
			}
		}
	})
}
