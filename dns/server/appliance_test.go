package server_test

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/dns/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// appliance is an engine in the test process, with one farm.
type appliance struct {
	*enginetest.House
	t      testing.TB
	engine *server.Engine
	gen    uint64
	farm   farm.Farm
}

// newAppliance starts an engine with that many loops until the test ends, calls before, and
// publishes a farm with these zones.
func newAppliance(t testing.TB, loops int, g *farm.GSLB, before ...func(*appliance)) *appliance {
	t.Helper()
	h := enginetest.New(t, loops)
	a := &appliance{House: h, t: t, engine: server.New(h.Loops, h.Health, h.Segment, h.Logger())}
	h.End(t, func() {
		a.publish()
		a.engine.Close()
	})
	for _, do := range before {
		do(a)
	}
	at := h.ListenBoth(t, "127.0.0.1")
	a.farm = farm.Farm{ID: 7, Name: "names", Profile: farm.ProfileGSLB, VIP: at.Addr(), VPort: at.Port(), Global: g}
	a.publish(a.farm)
	return a
}

// publish publishes farms and fails the test if they are refused.
func (a *appliance) publish(farms ...farm.Farm) {
	a.t.Helper()
	a.gen++
	cfg := &farm.Config{Farms: farms}
	problems, err := a.engine.Publish(a.gen, cfg.Clone(), a.Files) // tests change their farms later
	if err != nil {
		a.t.Fatal(err)
	}
	for _, p := range problems {
		a.t.Fatal(p)
	}
}

// answer is a received answer.
type answer struct {
	flags                         uint16
	answer, authority, additional []string
	raw                           []byte
}

func (a answer) rcode() int { return int(a.flags & 0xf) }

const (
	flagAA = 1 << 10
	flagTC = 1 << 9
)

// ask sends a query such as "www.example.com A" by UDP or TCP.
func (a *appliance) ask(question string, tcp bool) answer {
	a.t.Helper()
	return read(a.t, a.exchange(query(a.t, question), tcp))
}

func query(t testing.TB, question string) []byte {
	t.Helper()
	name, kind, _ := strings.Cut(question, " ")
	wire, err := rdata.Name(strings.TrimSuffix(name, ".")+".", "")
	if err != nil {
		t.Fatal(err)
	}
	msg, err := rdata.Query(wire, rdata.TypeNamed(kind), netip.Prefix{})
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

func read(t testing.TB, raw []byte) (out answer) {
	t.Helper()
	var err error
	out.raw, out.flags = raw, binary.BigEndian.Uint16(raw[2:])
	if out.answer, out.authority, out.additional, err = rdata.Sections(raw); err != nil {
		t.Fatalf("%x: %v", raw, err)
	}
	return out
}

// exchange sends a message and returns the answer, which must arrive.
func (a *appliance) exchange(msg []byte, tcp bool) []byte {
	a.t.Helper()
	network := "udp"
	if tcp {
		network, msg = "tcp", append(binary.BigEndian.AppendUint16(nil, uint16(len(msg))), msg...)
	}
	c, err := net.Dial(network, a.farm.AddrPort().String())
	if err != nil {
		a.t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.Write(msg); err != nil {
		a.t.Fatal(err)
	}
	if !tcp {
		raw := make([]byte, 65535)
		n, err := c.Read(raw)
		if err != nil {
			a.t.Fatal(err)
		}
		return raw[:n]
	}
	return message(a.t, c)
}

// message reads one message from a stream.
func message(t testing.TB, c io.Reader) []byte {
	t.Helper()
	var length [2]byte
	if _, err := io.ReadFull(c, length[:]); err != nil {
		t.Fatal(err)
	}
	raw := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(c, raw); err != nil {
		t.Fatal(err)
	}
	return raw
}

// up marks backends as up.
func (a *appliance) up(ids ...uint32) {
	for _, id := range ids {
		a.Health.SetGuardian(id, health.Up, time.Now())
	}
}

func (a *appliance) down(ids ...uint32) {
	for _, id := range ids {
		a.Health.SetGuardian(id, health.Down, time.Now())
	}
}

// example returns a zone with nearly all kinds of records, and a service of two backends.
func example() *farm.GSLB {
	g := &farm.GSLB{Zones: []farm.Zone{{ID: 1, Name: "example.com", NameServer: "ns1", Serial: 5, Records: records(`
		@      NS    ns1
		@      MX    10 mail
		@      TXT   v=spf1 -all
		ns1    A     192.0.2.1
		ns1    AAAA  2001:db8::1
		www    A     192.0.2.10
		www    A     192.0.2.11
		mail   A     192.0.2.20
		alias  CNAME www
		far    CNAME www.example.org.
		deep   CNAME alias
		loop   CNAME loop
		*.wild A     192.0.2.30
		a.b.c  A     192.0.2.40
		sub    NS    ns.sub
		sub    NS    ns.example.net.
		ns.sub A     192.0.2.50
		sub    DS    12345 13 2 0011223344556677889900112233445566778899001122334455667788990011
		shop   DYNA  shop
		toshop CNAME shop
		_sip._tcp SRV 10 60 5060 www
		big    TXT   ` + strings.Repeat("x", 900) + `
	`)}, {ID: 2, Name: "child.example.com", NameServer: "ns1.example.com.", Serial: 1, Records: records(`
		@      NS    ns1.example.com.
		www    A     192.0.2.60
	`)}}}
	g.Services = []farm.DNSService{{ID: 1, Name: "shop", Algorithm: farm.DNSRoundRobin, Backends: backends("192.0.2.100", "192.0.2.101", "2001:db8::100")}}
	return g
}

func backends(addrs ...string) (list []farm.Backend) {
	for i, a := range addrs {
		list = append(list, farm.Backend{ID: uint32(i + 1), Slot: uint32(i + 1), Host: a, Addr: netip.MustParseAddr(a)})
	}
	return list
}

func records(text string) (list []farm.Record) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) > 2 {
			list = append(list, farm.Record{ID: uint32(len(list) + 1), Name: f[0], Type: farm.RecordType(f[1]), Data: strings.Join(f[2:], " ")})
		}
	}
	return list
}

func same(got []string, want ...string) bool {
	got, want = slices.Clone(got), slices.Clone(want)
	slices.Sort(got)
	slices.Sort(want)
	return slices.Equal(got, want)
}
