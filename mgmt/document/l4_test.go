package document_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// l4Configs draws valid l4xnat farms.
func l4Configs() *rapid.Generator[*farm.Config] {
	return rapid.Custom(func(t *rapid.T) *farm.Config {
		c := &farm.Config{}
		for i := range rapid.IntRange(1, 3).Draw(t, "farms") {
			d := drawn{t, rapid.Bool().Draw(t, "IPv6")}
			f := farm.Farm{Name: fmt.Sprintf("farm%d", i), Profile: farm.ProfileL4, VIP: d.addr(1, i), Stopped: rapid.Bool().Draw(t, "stopped"), L4: farm.DefaultL4()}
			d.settings(f.L4)
			d.backends(f.L4, i)
			d.userspace(f.L4)
			c.Farms = append(c.Farms, f)
		}
		return c
	})
}

type drawn struct {
	*rapid.T
	v6 bool
}

func (d drawn) addr(net, host int) netip.Addr {
	if d.v6 {
		return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 14: byte(net), 15: byte(host + 1)})
	}
	return netip.AddrFrom4([4]byte{10, 0, byte(net), byte(host + 1)})
}

func (d drawn) seconds(name string) farm.Seconds {
	return farm.Seconds(rapid.SampledFrom([]int{0, 0, 1, 77, 3600}).Draw(d.T, name))
}

func (d drawn) settings(l *farm.L4) {
	l.Protocol = rapid.SampledFrom(farm.L4Protocols()).Filter(func(p farm.L4Protocol) bool {
		return !d.v6 || p != farm.L4PPTP && p != farm.L4IRC && p != farm.L4SNMP && p != farm.L4NetBIOSNS
	}).Draw(d.T, "protocol")
	l.NAT = rapid.SampledFrom(farm.NATTypes()).Filter(func(n farm.NATType) bool { return l.Protocol != farm.L4SIP || n == farm.NATMasquerade }).Draw(d.T, "nattype")
	tracked := l.NAT == farm.NATMasquerade || l.NAT == farm.NATTarget
	l.Algorithm = rapid.SampledFrom(farm.L4Algorithms()).Filter(func(a farm.L4Algorithm) bool { return tracked || a != farm.L4LeastConn }).Draw(d.T, "algorithm")
	l.Persist = rapid.SampledFrom(append(farm.L4Persistences(), farm.L4PersistNone, farm.L4PersistNone)).Draw(d.T, "persistence")
	l.TTL = 1 + d.seconds("ttl")
	next := uint16(rapid.IntRange(1, 60000).Draw(d.T, "vport"))
	for range rapid.IntRange(1, 2).Draw(d.T, "ports") {
		p := farm.PortRange{First: next, Last: next}
		if l.Protocol != farm.L4SIP && l.Protocol != farm.L4FTP && l.Protocol != farm.L4TFTP {
			p.Last += uint16(rapid.SampledFrom([]int{0, 0, 1, 40}).Draw(d.T, "more"))
		}
		l.Ports, next = append(l.Ports, p), p.Last+1+uint16(rapid.IntRange(0, 9).Draw(d.T, "gap"))
	}
	if l.Protocol == farm.L4All {
		l.Ports = nil
	}
	if l.NAT == farm.NATMasquerade && rapid.Bool().Draw(d.T, "with source") {
		l.Source = d.addr(1, 99)
	}
	l.Logs, l.LogPrefix = rapid.Bool().Draw(d.T, "logs"), rapid.SampledFrom([]string{"", "x", "a b: #1"}).Draw(d.T, "log_prefix")
	l.LogLimit, l.ConnectTimeout, l.IdleTimeout = uint32(d.seconds("log_limit")), d.seconds("contimeout"), d.seconds("idle_timeout")
	l.ResurrectTime, l.StopGrace, l.MaxConnections, l.Mark = d.seconds("resurrectime"), d.seconds("grace"), uint32(d.seconds("maxconnections")), uint32(d.seconds("mark"))
}

func (d drawn) backends(l *farm.L4, farmNumber int) {
	for i := range rapid.IntRange(0, 3).Draw(d.T, "backends") {
		addr := d.addr(9, farmNumber*10+i)
		b := farm.Backend{Host: addr.String(), Addr: addr, Port: uint16(rapid.SampledFrom([]int{0, 80, 65535}).Draw(d.T, "port")), Weight: uint8(rapid.IntRange(0, 9).Draw(d.T, "weight")),
			Priority: uint8(rapid.IntRange(0, 9).Draw(d.T, "priority")), ConnLimit: uint32(d.seconds("max_conns")), Mark: uint32(d.seconds("mark")),
			Alias:       rapid.SampledFrom([]string{"", "one", "no. 1"}).Draw(d.T, "alias"),
			Maintenance: rapid.SampledFrom([]farm.Maintenance{"", farm.MaintenanceDrain, farm.MaintenanceCut}).Draw(d.T, "maintenance")}
		if l.NAT == farm.NATMasquerade && rapid.Bool().Draw(d.T, "with source") {
			b.Source = d.addr(1, 98)
		}
		if l.Persist != farm.L4PersistNone && rapid.Bool().Draw(d.T, "with session") {
			b.Sessions = []string{farm.L4Key{Addr: d.addr(7, i), Port: uint16(100 + i), MAC: [6]byte{2, 5: byte(i)}}.Text(l.Persist)}
		}
		l.Backends = append(l.Backends, b)
	}
}

// userspace draws the data path, and settings that only one of them supports.
func (d drawn) userspace(l *farm.L4) {
	if l.NotUserspace() != "" {
		l.DataPath = rapid.SampledFrom([]farm.DataPath{"", farm.DataPathKernel}).Draw(d.T, "datapath")
		return
	}
	switch {
	case !rapid.Bool().Draw(d.T, "special"):
	case l.Protocol == farm.L4TCP:
		l.Trusted = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		l.ProxyIn = rapid.SampledFrom([]farm.ProxyIn{"", farm.ProxyInOptional, farm.ProxyInRequired}).Draw(d.T, "proxyprotocol_in")
		l.ProxyOut = rapid.SampledFrom([]farm.ProxyOut{"", farm.ProxyOutV1, farm.ProxyOutV2}).Draw(d.T, "proxyprotocol_out")
		for i := range l.Backends {
			l.Backends[i].ServerNames = rapid.SampledFrom([][]string{nil, {"a.example"}, {"*.b.example", "b.example"}}).Draw(d.T, "server_names")
		}
	default:
		l.QUIC = rapid.Bool().Draw(d.T, "quic")
		if rapid.Bool().Draw(d.T, "counts answers") {
			n := uint16(rapid.IntRange(0, 65535).Draw(d.T, "responses"))
			l.Responses = &n
		}
	}
	l.DataPath = rapid.SampledFrom([]farm.DataPath{"", farm.DataPathUserspace, farm.DataPathKernel}).
		Filter(func(p farm.DataPath) bool { return p != farm.DataPathKernel || l.NotKernel() == "" }).Draw(d.T, "datapath")
}

func TestL4FarmsRoundTrip(t *testing.T) {
	for name, encode := range map[string]func(*farm.Config) ([]byte, error){"yaml": document.Encode, "json": document.EncodeJSON} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				c := l4Configs().Draw(t, "config")
				text, err := encode(c)
				if err != nil {
					t.Fatal(err)
				}
				back, err := document.Load(text, validate.Rules{})
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				if back.SystemUnsaid, back.ChecksUnsaid = false, false; !reflect.DeepEqual(back, c) {
					t.Fatalf("differs after a round trip: %s\n%s", document.Diff(c, back), text)
				}
				if !reflect.DeepEqual(c.Clone(), c) {
					t.Fatal("a clone is not the same")
				}
			})
		})
	}
}

// Farms keep their IDs through a document, and the snapshot accepts the result.
func TestL4FarmsKeepTheirNumbersThroughDocuments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := l4Configs().Draw(t, "config")
		number(c)
		text, err := document.Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		back, err := document.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		document.Carry(c, back)
		if !reflect.DeepEqual(back, c) {
			t.Fatalf("numbers changed: %+v\n%+v", back.Farms, c.Farms)
		}
		if _, err := snapshot.Encode(1, back); err != nil {
			t.Fatal(err)
		}
		twin := c.Farms[0].Clone()
		document.StripIDs(&twin)
		if twin.ID != 0 || twin.L4.ID != 0 || len(twin.L4.Backends) > 0 && twin.L4.Backends[0].ID != 0 || c.Farms[0].ID == 0 {
			t.Fatal("a copy keeps numbers")
		}
	})
}

// number gives every object a unique ID.
func number(c *farm.Config) {
	next := uint32(0)
	for i := range c.Farms {
		next++
		c.Farms[i].ID = next
		for _, g := range c.Farms[i].Groups() {
			next++
			*g.IDAt() = next
			for k := range g.Backends() {
				next++
				g.Backends()[k].ID = next
			}
		}
	}
}

func TestProfileChangeKeepsTheFarmID(t *testing.T) {
	h := farm.DefaultHTTP()
	h.Services = []farm.Service{{ID: 2, Name: "web", Backends: []farm.Backend{{ID: 3, Host: "10.0.0.1", Port: 80}}}}
	old := &farm.Config{Farms: []farm.Farm{{ID: 1, Name: "a", Profile: farm.ProfileHTTP, HTTP: h}}}
	is := &farm.Config{Farms: []farm.Farm{{Name: "a", Profile: farm.ProfileL4, L4: &farm.L4{Backends: []farm.Backend{{Host: "10.0.0.1", Port: 80}}}}}}
	document.Carry(old, is)
	if f := is.Farms[0]; f.ID != 1 || f.L4.ID != 0 || f.L4.Backends[0].ID != 0 {
		t.Errorf("%+v %+v", f, f.L4)
	}
}

func TestL4ProblemsHaveAPosition(t *testing.T) {
	l4 := func(lines ...string) string {
		return "farms:\n- name: a\n  profile: l4xnat\n  vip: 10.0.0.5\n" + strings.Join(lines, "\n") + "\n"
	}
	for _, c := range []struct{ name, text, want string }{
		{"no port", l4(), `line 2, column 3: farm "a": vport is required: it must be a port from 1 to 65535, a list of ports and ranges as 80,443,8000:8010, or * for all`},
		{"a field of http", l4("  vport: 80", "  reqtimeout: 5"), `line 6, column 3: farm "a": unknown field "reqtimeout"`},
		{"services", l4("  vport: 80", "  services: []"), `line 6, column 3: farm "a": unknown field "services"`},
		{"ports", l4("  vport: 80,90:85"), `line 5, column 3: farm "a": vport must be`},
		{"words", l4("  vport: 80", "  protocol: all"), `line 5, column 3: farm "a": vport "80" contradicts protocol all`},
		{"backends that are text", l4("  vport: 80", "  backends: x"), `line 6, column 13: farm "a": backends must be a list, got a single value`},
		{"a backend", l4("  vport: 80", "  backends:", "  - ip: 10.0.0.1", "    wight: 1"), `line 8, column 5: farm "a" backend 0: unknown field "wight" (did you mean "weight"?)`},
		{"a rule of a backend", l4("  vport: 80", "  backends:", "  - ip: 10.0.0.1", "  - ip: 10.0.0.1"), `line 8, column 5: farm "a" backend 1: ip and port must be unique in the farm`},
		{"a rule of the farm", l4("  vport: 80", "  nattype: dsr", "  algorithm: leastconn"), `line 7, column 3: farm "a": algorithm must not be leastconn with nattype dsr`},
		{"names in the kernel", l4(`  vport: "1:1000"`, "  backends:", "  - ip: 10.0.0.1", "    server_names: [a.example]"), `line 2, column 3: farm "a": server_names cannot work: server names are read in userspace`},
		{"another profile", "farms:\n- {name: a, profile: none, vip: 10.0.0.5, vport: 80}", `farm "a": profile must be one of http, l4xnat, `},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := document.Load([]byte(c.text), validate.Rules{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestADifferenceNamesTheL4Farm(t *testing.T) {
	was, is := everything(), everything()
	is.Farms[1].L4.Backends[0].Weight = 9
	got := document.Diff(was, is)
	for _, want := range []string{" @@ farm relay\n", "\n       - ip: 10.0.0.1\n-        weight: 2\n+        weight: 9\n         priority: 3\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}
