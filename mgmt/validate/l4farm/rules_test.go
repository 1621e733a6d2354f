package l4farm_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

func TestAGoodL4FarmBreaksNoRule(t *testing.T) {
	if err := validatetest.Rules.Config(validatetest.GoodL4()); err != nil {
		t.Error(err)
	}
	if w := validatetest.Rules.Warnings(validatetest.GoodL4()); len(w) != 0 {
		t.Error(w)
	}
}

func TestSIPTakesRangesOfPorts(t *testing.T) {
	cfg := validatetest.GoodL4()
	l := cfg.Farms[0].L4
	l.Protocol, l.NAT, l.Ports = farm.L4SIP, farm.NATMasquerade, append(validatetest.Ports(5060, 5070), validatetest.Ports(5080, 5099)...)
	l.Backends = []farm.Backend{{Host: "10.0.0.7", Addr: validatetest.Addr("10.0.0.7")}}
	if err := validatetest.Rules.Config(cfg); err != nil {
		t.Error(err)
	}
}

func TestEveryBrokenRuleOfAnL4FarmSaysWhyAndWhatWouldWork(t *testing.T) {
	responses := uint16(1)
	trust := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	packets := func(l *farm.L4, n farm.NATType) { l.NAT, l.Backends = n, l.Backends[:1] }
	for name, c := range map[string]struct {
		spoil func(f *farm.Farm, l *farm.L4)
		want  string
	}{
		"no settings":  {func(f *farm.Farm, _ *farm.L4) { f.L4 = nil }, `farm "relay": profile l4xnat needs its settings; they are missing`},
		"protocol":     {func(_ *farm.Farm, l *farm.L4) { l.Protocol = "icmp" }, `farm "relay": protocol must be one of tcp, udp, tcp_udp, sctp, all, sip, ftp, tftp, h323, pptp, snmp, amanda, irc, netbios-ns, sane, got "icmp"`},
		"nattype":      {func(_ *farm.Farm, l *farm.L4) { l.NAT = "snat" }, `farm "relay": nattype must be one of nat, dnat, dsr, stateless_dnat, got "snat"`},
		"algorithm":    {func(_ *farm.Farm, l *farm.L4) { l.Algorithm = "random" }, `algorithm must be one of weight, roundrobin, hash_srcip, hash_srcip_srcport, symhash, leastconn, prio, hash_srcport, hash_dstip, hash_dstport, got "random"`},
		"mark of ours": {func(_ *farm.Farm, l *farm.L4) { l.Mark = 0x5d000000 }, `farm "relay": mark must not be from 1543503872 to 1577058303 (0x5c000000 to 0x5dffffff), by which farms themselves are told apart, got 1560281088`},
		"mark to ours": {func(_ *farm.Farm, l *farm.L4) { l.Backends[0].Mark = 0x5c000007 }, `mark must not be from 1543503872 to 1577058303 (0x5c000000 to 0x5dffffff), by which farms themselves are told apart, got 1543503879`},
		"ttl":          {func(_ *farm.Farm, l *farm.L4) { l.TTL = 0 }, `ttl must be a number from 1 to 31536000 (seconds), got 0`},
		"order of ports": {func(_ *farm.Farm, l *farm.L4) {
			l.Ports = []farm.PortRange{{First: 81, Last: 81}, {First: 80, Last: 80}}
		}, `farm "relay": vport must be ascending, write "81,80" as "80,81"`},
		"ports twice": {func(_ *farm.Farm, l *farm.L4) {
			l.Ports = []farm.PortRange{{First: 80, Last: 90}, {First: 85, Last: 85}}
		}, `port 85 is in 80:90 and in 85`},
		"no ports":      {func(_ *farm.Farm, l *farm.L4) { l.Ports = nil }, `farm "relay": vport must be * with protocol all and with no other, got * with protocol tcp`},
		"ports of all":  {func(_ *farm.Farm, l *farm.L4) { l.Protocol = farm.L4All }, `vport must be * with protocol all and with no other, got 80,8000:8010 with protocol all`},
		"ranges of ftp": {func(_ *farm.Farm, l *farm.L4) { l.Protocol = farm.L4FTP }, `vport must be one port or a list of two with protocol ftp, got "80,8000:8010"`},
		"three of tftp": {func(_ *farm.Farm, l *farm.L4) {
			l.Protocol, l.Ports = farm.L4TFTP, append(append(validatetest.Ports(1, 1), validatetest.Ports(2, 2)...), validatetest.Ports(3, 3)...)
		}, `vport must be one port or a list of two with protocol tftp, got "1,2,3"`},
		"sip": {func(_ *farm.Farm, l *farm.L4) {
			l.Protocol, l.Ports, l.NAT = farm.L4SIP, validatetest.Ports(5060, 5060), farm.NATTarget
		}, `farm "relay": nattype must be nat with protocol sip: answers must come through the appliance, which rewrites the addresses in them, got dnat`},
		"helper of IPv4": {func(f *farm.Farm, l *farm.L4) {
			f.VIP, l.Backends, l.Protocol = validatetest.Addr("2001:db8::5"), nil, farm.L4PPTP
		}, `farm "relay": protocol pptp works with IPv4 only, the kernel's helper reads no IPv6, and vip is 2001:db8::5; use an IPv4 vip, or protocol tcp for what needs no helper`},
		"all of everything": {func(f *farm.Farm, l *farm.L4) {
			f.VIP, l.Protocol, l.Ports = validatetest.Addr("0.0.0.0"), farm.L4All, nil
		}, `farm "relay": vip must be one address with protocol all, got 0.0.0.0: every packet for this machine would be taken, those of its management too`},
		"dsr of everything": {func(f *farm.Farm, l *farm.L4) { f.VIP = validatetest.Addr("0.0.0.0"); packets(l, farm.NATDirect) }, `vip must be one address with nattype dsr, got 0.0.0.0: backends need the same address to answer from`},
		"stateless of everything": {func(f *farm.Farm, l *farm.L4) { f.VIP = validatetest.Addr("0.0.0.0"); packets(l, farm.NATStateless) },
			`vip must be one address with nattype stateless_dnat, got 0.0.0.0: it is what answers come from, and nobody remembers which one was asked`},
		"leastconn in dsr": {func(_ *farm.Farm, l *farm.L4) { packets(l, farm.NATDirect); l.Algorithm = farm.L4LeastConn },
			`farm "relay": algorithm must not be leastconn with nattype dsr: it counts tracked connections, and there are none; use weight, roundrobin or a hash, or nattype nat or dnat`},
		"leastconn in stateless_dnat": {func(_ *farm.Farm, l *farm.L4) { packets(l, farm.NATStateless); l.Algorithm = farm.L4LeastConn }, `algorithm must not be leastconn with nattype stateless_dnat`},
		"source in dnat": {func(_ *farm.Farm, l *farm.L4) { packets(l, farm.NATTarget); l.Source = validatetest.Addr("10.0.0.5") },
			`farm "relay": source is allowed only with nattype nat, got dnat: backends see the client's address with any other; set it null, or nattype nat`},
		"source of a backend in stateless_dnat": {func(_ *farm.Farm, l *farm.L4) {
			packets(l, farm.NATStateless)
			l.Backends[0].Source = validatetest.Addr("10.0.0.5")
		},
			`farm "relay" backend 0: source is allowed only with nattype nat, got stateless_dnat: `},
		"source of a backend in dsr": {func(_ *farm.Farm, l *farm.L4) {
			packets(l, farm.NATDirect)
			l.Backends[0].Source = validatetest.Addr("10.0.0.5")
		},
			`farm "relay" backend 0: source is allowed only with nattype nat, got dsr: backends see`},
		"source of another version": {func(_ *farm.Farm, l *farm.L4) { l.Source = validatetest.Addr("2001:db8::1") }, `source must be of the same IP version as the vip (10.0.0.5), got 2001:db8::1`},
		"source that is no machine": {func(_ *farm.Farm, l *farm.L4) { l.Source = validatetest.Addr("0.0.0.0") }, `source must be the address of one machine, got 0.0.0.0: it is the unspecified address`},
		"PROXY from nobody":         {func(_ *farm.Farm, l *farm.L4) { l.ProxyIn = farm.ProxyInRequired }, `farm "relay": proxyprotocol_in is allowed only with trusted, the addresses that may send such headers; set it off, or trusted`},
		"PROXY of datagrams": {func(_ *farm.Farm, l *farm.L4) {
			l.Protocol, l.ProxyIn, l.Trusted = farm.L4UDP, farm.ProxyInOptional, trust
		},
			`farm "relay": proxyprotocol_in is allowed only with protocol tcp, got udp: the header begins a connection; set it off, or protocol tcp`},
		"PROXY to servers of datagrams": {func(_ *farm.Farm, l *farm.L4) { l.Protocol, l.ProxyOut = farm.L4UDP, farm.ProxyOutV2 }, `proxyprotocol_out is allowed only with protocol tcp, got udp`},
		"PROXY beside datagrams":        {func(_ *farm.Farm, l *farm.L4) { l.Protocol, l.ProxyOut = farm.L4TCPUDP, farm.ProxyOutV2 }, `proxyprotocol_out is allowed only with protocol tcp, got tcp_udp: the header begins a connection`},
		"QUIC of TCP":                   {func(_ *farm.Farm, l *farm.L4) { l.QUIC = true }, `farm "relay": quic is allowed only with protocol udp or tcp_udp, got tcp; set it false, or protocol udp`},
		"answers of TCP":                {func(_ *farm.Farm, l *farm.L4) { l.Responses = &responses }, `farm "relay": responses is allowed only with protocol udp or tcp_udp, got tcp: it counts datagrams; set it null, or protocol udp`},
		"names of datagrams": {func(_ *farm.Farm, l *farm.L4) {
			l.Protocol, l.Backends[0].ServerNames = farm.L4UDP, []string{"a.example"}
		},
			`farm "relay" backend 0: server_names is allowed only with protocol tcp, got udp: they are read from the start of a TLS connection; set it null, or protocol tcp`},
		"names beside datagrams": {func(_ *farm.Farm, l *farm.L4) {
			l.Protocol, l.Backends[0].ServerNames = farm.L4TCPUDP, []string{"a.example"}
		}, `server_names is allowed only with protocol tcp, got tcp_udp: they are read from the start of a TLS connection`},
		"userspace of many ports of both": {func(_ *farm.Farm, l *farm.L4) {
			l.DataPath, l.Protocol, l.Ports = farm.DataPathUserspace, farm.L4TCPUDP, validatetest.Ports(1000, 1016)
		}, `datapath must not be userspace: 17 virtual ports are more than the 16 that userspace listens on by tcp and udp; set datapath auto or kernel, or list at most 16 ports`},
		"userspace of dnat of both": {func(_ *farm.Farm, l *farm.L4) {
			packets(l, farm.NATTarget)
			l.DataPath, l.Protocol = farm.DataPathUserspace, farm.L4TCPUDP
		}, `datapath must not be userspace: nattype dnat with protocol tcp_udp is carried by the kernel; set datapath auto or kernel, or set nattype nat`},
		"kernel of answers beside connections": {func(_ *farm.Farm, l *farm.L4) {
			l.DataPath, l.Protocol, l.Responses = farm.DataPathKernel, farm.L4TCPUDP, &responses
		}, `answers are counted in userspace; set datapath auto or userspace, or set responses null`},
		"userspace of sctp": {func(_ *farm.Farm, l *farm.L4) { l.DataPath, l.Protocol = farm.DataPathUserspace, farm.L4SCTP },
			`farm "relay": datapath must not be userspace: protocol sctp is carried by the kernel; set datapath auto or kernel, or set protocol tcp, udp or tcp_udp`},
		"userspace of dsr": {func(_ *farm.Farm, l *farm.L4) { packets(l, farm.NATDirect); l.DataPath = farm.DataPathUserspace },
			`datapath must not be userspace: nattype dsr works on packets, which the kernel carries; set datapath auto or kernel, or set nattype nat or dnat`},
		"userspace of many ports": {func(_ *farm.Farm, l *farm.L4) {
			l.DataPath, l.Ports = farm.DataPathUserspace, validatetest.Ports(1000, 2000)
		},
			`datapath must not be userspace: 1001 virtual ports are more than the 32 sockets userspace opens for a farm; set datapath auto or kernel, or list at most 32 ports`},
		"userspace of MACs": {func(_ *farm.Farm, l *farm.L4) { l.DataPath, l.Persist = farm.DataPathUserspace, farm.L4PersistMAC },
			`datapath must not be userspace: persistence srcmac needs packets, which the kernel sees; set datapath auto or kernel, or set another persistence`},
		"kernel of PROXY": {func(_ *farm.Farm, l *farm.L4) { l.DataPath, l.ProxyOut = farm.DataPathKernel, farm.ProxyOutV1 },
			`farm "relay": datapath must not be kernel: the PROXY protocol is spoken in userspace; set datapath auto or userspace, or set proxyprotocol_out off`},
		"kernel of names": {func(_ *farm.Farm, l *farm.L4) {
			l.DataPath, l.Backends[0].ServerNames = farm.DataPathKernel, []string{"a.example"}
		},
			`datapath must not be kernel: server names are read in userspace; set datapath auto or userspace, or remove the server_names of the backends`},
		"kernel of QUIC": {func(_ *farm.Farm, l *farm.L4) { l.DataPath, l.Protocol, l.QUIC = farm.DataPathKernel, farm.L4UDP, true }, `connection ids of QUIC are read in userspace; set datapath auto or userspace, or set quic false`},
		"kernel of answers": {func(_ *farm.Farm, l *farm.L4) {
			l.DataPath, l.Protocol, l.Responses = farm.DataPathKernel, farm.L4UDP, &responses
		}, `answers are counted in userspace; set datapath auto or userspace, or set responses null`},
		"neither": {func(_ *farm.Farm, l *farm.L4) {
			packets(l, farm.NATStateless)
			l.ProxyIn, l.Trusted = farm.ProxyInOptional, trust
		},
			`farm "relay": proxyprotocol_in cannot work: the PROXY protocol is spoken in userspace, and this farm needs the kernel because nattype stateless_dnat works on packets, which the kernel carries; set proxyprotocol_in off, or set nattype nat or dnat`},
		"backend twice":            {func(_ *farm.Farm, l *farm.L4) { l.Backends[2] = l.Backends[1] }, `farm "relay" backend 2: ip and port must be unique in the farm, backend 1 is 10.0.0.7 with the client's port already`},
		"backend twice by default": {func(_ *farm.Farm, l *farm.L4) { l.Ports = validatetest.Ports(80, 80) }, `farm "relay" backend 1: ip and port must be unique in the farm, backend 0 is 10.0.0.7 port 80 already`},
		"weight":                   {func(_ *farm.Farm, l *farm.L4) { l.Backends[0].Weight = 10 }, `farm "relay" backend 0: weight must be a number from 1 to 9, got 10`},
		"a network":                {func(_ *farm.Farm, l *farm.L4) { l.Backends[0].Host = "10.0.0.0" }, `farm "relay" backend 0: ip must be the address of one server, got 10.0.0.0: it is the address of the local network 10.0.0.0/24 itself`},
		"broadcast":                {func(_ *farm.Farm, l *farm.L4) { l.Backends[0].Host = "10.0.0.255" }, `farm "relay" backend 0: ip must be the address of one server, got 10.0.0.255: it is the broadcast address of the local network 10.0.0.0/24`},
		"multicast":                {func(_ *farm.Farm, l *farm.L4) { l.Backends[0].Host = "224.0.0.1" }, `it is a multicast address`},
		"loop without a port":      {func(_ *farm.Farm, l *farm.L4) { l.Backends[0].Host, l.Backends[0].Port = "10.0.0.5", 0 }, `farm "relay" backend 0: ip and port must not be the farm's own address, got 10.0.0.5 with the client's port: packets would go round in a circle`},
		"loop in a range":          {func(_ *farm.Farm, l *farm.L4) { l.Backends[0].Host, l.Backends[0].Port = "10.0.0.5", 8005 }, `got 10.0.0.5 port 8005: packets would go round in a circle`},
		"loop of a name":           {func(_ *farm.Farm, l *farm.L4) { l.Backends[2].Addr = validatetest.Addr("10.0.0.5") }, `got "db.example" (10.0.0.5) with the client's port: packets would go round in a circle`},
		"loop of all addresses":    {func(f *farm.Farm, l *farm.L4) { f.VIP, l.Backends[0].Host = validatetest.Addr("0.0.0.0"), "127.0.0.1" }, `got 127.0.0.1 port 80: packets would go round in a circle`},
		"loop of all":              {func(_ *farm.Farm, l *farm.L4) { l.Protocol, l.Ports = farm.L4All, nil }, `farm "relay" backend 3: ip and port must not be the farm's own address, got 10.0.0.5 port 81`},
		"loop in dsr":              {func(_ *farm.Farm, l *farm.L4) { l.NAT = farm.NATDirect }, `farm "relay" backend 3: ip and port must not be the farm's own address, got 10.0.0.5 port 81`},
		"loop in dnat":             {func(_ *farm.Farm, l *farm.L4) { l.NAT, l.Backends[3].Port = farm.NATTarget, 80 }, `farm "relay" backend 3: ip and port must not be the farm's own address`},
		"loop in stateless_dnat":   {func(_ *farm.Farm, l *farm.L4) { l.NAT, l.Backends[3].Port = farm.NATStateless, 80 }, `farm "relay" backend 3: ip and port must not be the farm's own address`},
		"this machine in dsr": {func(f *farm.Farm, l *farm.L4) { packets(l, farm.NATDirect); l.Backends[0].Host = "127.0.0.9" },
			`ip must be of a neighbour with nattype dsr, got 127.0.0.9: packets go to its MAC address, and this machine has none for itself; use nattype nat`},
		"sessions of nothing": {func(_ *farm.Farm, l *farm.L4) { l.Backends[0].Sessions = []string{"10.0.0.1"} }, `farm "relay" backend 0: sessions: session: the farm keeps no sessions; set persistence first`},
		"session": {func(_ *farm.Farm, l *farm.L4) {
			l.Persist, l.Backends[0].Sessions = farm.L4PersistSrcSrc, []string{"10.0.0.1"}
		}, `sessions: session must be an address and a port as 10.0.0.1 . 4022 with persistence srcip_srcport, got "10.0.0.1"`},
		"session's form": {func(_ *farm.Farm, l *farm.L4) {
			l.Persist, l.Backends[0].Sessions = farm.L4PersistSrcSrc, []string{"10.0.0.1.80"}
		}, `sessions: write "10.0.0.1.80" as "10.0.0.1 . 80"`},
		"session's version": {func(_ *farm.Farm, l *farm.L4) { l.Persist, l.Backends[0].Sessions = farm.L4PersistSrc, []string{"::1"} }, `sessions: "::1" must be of the same IP version as the vip (10.0.0.5)`},
		"session twice": {func(_ *farm.Farm, l *farm.L4) {
			l.Persist, l.Backends[0].Sessions, l.Backends[1].Sessions = farm.L4PersistDstPt, []string{"80"}, []string{"80"}
		}, `farm "relay" backend 1: sessions: "80" is with backend 0 already`},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := validatetest.GoodL4()
			c.spoil(&cfg.Farms[0], cfg.Farms[0].L4)
			err := validatetest.First(cfg)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// The combinations allowed by §4.2 of the reference are accepted.
func TestEveryNATTypeTakesItsSchedulersAndPersistences(t *testing.T) {
	for _, nat := range farm.NATTypes() {
		for _, protocol := range []farm.L4Protocol{farm.L4TCP, farm.L4UDP, farm.L4SCTP, farm.L4All} {
			for _, algorithm := range farm.L4Algorithms() {
				for _, persist := range append(farm.L4Persistences(), "") {
					if algorithm == farm.L4LeastConn && (nat == farm.NATDirect || nat == farm.NATStateless) {
						continue
					}
					for _, vip := range []string{"10.0.0.5", "2001:db8::5"} {
						cfg := validatetest.GoodL4()
						f, l := &cfg.Farms[0], cfg.Farms[0].L4
						f.VIP, l.NAT, l.Protocol, l.Algorithm, l.Persist = validatetest.Addr(vip), nat, protocol, algorithm, persist
						l.Backends = []farm.Backend{{Host: "10.0.0.7"}}
						if f.VIP.Is6() {
							l.Backends[0].Host = "2001:db8::7"
						}
						if protocol == farm.L4All {
							l.Ports = nil
						}
						if err := validatetest.Rules.Config(cfg); err != nil {
							t.Errorf("%s %s %s %q: %v", nat, protocol, algorithm, persist, err)
						}
					}
				}
			}
		}
	}
}

func TestL4StaticSessionsAreKeptInOneForm(t *testing.T) {
	l := &farm.L4{Persist: farm.L4PersistSrcDest}
	if got, err := l4farm.StaticSession(l, "10.0.0.1.443"); err != nil || got != "10.0.0.1 . 443" {
		t.Error(got, err)
	}
	l.Persist = farm.L4PersistDstPt
	if got, err := l4farm.StaticSession(l, float64(443)); err != nil || got != "443" {
		t.Error(got, err)
	}
	for _, no := range []any{nil, "", true, "x", []any{}} {
		if got, err := l4farm.StaticSession(l, no); err == nil || !strings.HasPrefix(err.Error(), "session must be a port as 4022 with persistence dstport") {
			t.Error(got, err)
		}
	}
	if _, err := l4farm.StaticSession(&farm.L4{}, "10.0.0.1"); err == nil || err.Error() != "session: the farm keeps no sessions; set persistence first" {
		t.Error(err)
	}
}
