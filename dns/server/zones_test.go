package server_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

const soa = "example.com. 300 IN SOA ns1.example.com. hostmaster.example.com. 5 3600 600 604800 300"

func TestQueriesAreAnsweredFromZones(t *testing.T) {
	a := newAppliance(t, 1, example())
	for _, c := range []struct {
		ask        string
		rcode      int
		authority  bool // authoritative
		answer     string
		section    string
		additional string
	}{
		{"www.example.com A", 0, true, "www.example.com. 3600 IN A 192.0.2.10|www.example.com. 3600 IN A 192.0.2.11", "", ""},
		{"www.example.com AAAA", 0, true, "", soa, ""},
		{"nothing.example.com A", 3, true, "", soa, ""},
		{"b.c.example.com A", 0, true, "", soa, ""},
		{"c.example.com A", 0, true, "", soa, ""},
		{"x.b.c.example.com A", 3, true, "", soa, ""},
		{"any.wild.example.com A", 0, true, "any.wild.example.com. 3600 IN A 192.0.2.30", "", ""},
		{"x.y.wild.example.com A", 0, true, "x.y.wild.example.com. 3600 IN A 192.0.2.30", "", ""},
		{"any.wild.example.com MX", 0, true, "", soa, ""},
		{"wild.example.com A", 0, true, "", soa, ""},
		{"alias.example.com A", 0, true, "alias.example.com. 3600 IN CNAME www.example.com.|www.example.com. 3600 IN A 192.0.2.10|www.example.com. 3600 IN A 192.0.2.11", "", ""},
		{"alias.example.com CNAME", 0, true, "alias.example.com. 3600 IN CNAME www.example.com.", "", ""},
		{"far.example.com A", 0, true, "far.example.com. 3600 IN CNAME www.example.org.", "", ""},
		{"example.com MX", 0, true, "example.com. 3600 IN MX 10 mail.example.com.", "", "mail.example.com. 3600 IN A 192.0.2.20"},
		{"example.com NS", 0, true, "example.com. 3600 IN NS ns1.example.com.", "", "ns1.example.com. 3600 IN A 192.0.2.1|ns1.example.com. 3600 IN AAAA 2001:db8::1"},
		{"example.com SOA", 0, true, strings.Replace(soa, " 300 IN", " 3600 IN", 1), "", ""},
		{"_sip._tcp.example.com SRV", 0, true, "_sip._tcp.example.com. 3600 IN SRV 10 60 5060 www.example.com.", "", "www.example.com. 3600 IN A 192.0.2.10|www.example.com. 3600 IN A 192.0.2.11"},
		{"www.sub.example.com A", 0, false, "", "sub.example.com. 3600 IN NS ns.sub.example.com.|sub.example.com. 3600 IN NS ns.example.net.", "ns.sub.example.com. 3600 IN A 192.0.2.50"},
		{"sub.example.com A", 0, false, "", "sub.example.com. 3600 IN NS ns.sub.example.com.|sub.example.com. 3600 IN NS ns.example.net.", "ns.sub.example.com. 3600 IN A 192.0.2.50"},
		{"sub.example.com DS", 0, true, "sub.example.com. 3600 IN DS 12345 13 2 0011223344556677889900112233445566778899001122334455667788990011", "", ""},
		{"www.child.example.com A", 0, true, "www.child.example.com. 3600 IN A 192.0.2.60", "", ""},
		{"no.child.example.com A", 3, true, "", "child.example.com. 300 IN SOA ns1.example.com. hostmaster.child.example.com. 1 3600 600 604800 300", ""},
		{"www.example.org A", 5, false, "", "", ""},
		{". NS", 5, false, "", "", ""},
		{"alias.example.com ANY", 0, true, "alias.example.com. 3600 IN CNAME www.example.com.", "", ""},
		{"shop.example.com TYPE65535", 0, true, "", soa, ""},
		{"www.example.com ANY", 0, true, `www.example.com. 3600 IN HINFO "RFC8482" ""`, "", ""},
	} {
		for _, tcp := range []bool{false, true} {
			got := a.ask(c.ask, tcp)
			if got.rcode() != c.rcode || got.flags&flagAA != 0 != c.authority || got.flags&flagTC != 0 {
				t.Errorf("%s: flags %x", c.ask, got.flags)
			}
			for _, s := range []struct {
				got  []string
				want string
			}{{got.answer, c.answer}, {got.authority, c.section}, {got.additional, c.additional}} {
				want := strings.Split(s.want, "|")
				if s.want == "" {
					want = nil
				}
				if !same(s.got, want...) {
					t.Errorf("%s by tcp %v: %q, want %q", c.ask, tcp, s.got, want)
				}
			}
		}
	}
}

// Every name is in the root zone.
func TestRootZoneIsServed(t *testing.T) {
	a := newAppliance(t, 1, &farm.GSLB{Zones: []farm.Zone{
		{ID: 1, Name: ".", NameServer: "a.root", Serial: 5, Records: records("@ NS a.root\na.root A 192.0.2.1\ncom NS ns.com\nns.com A 192.0.2.2\nalias CNAME www.org\n*.org A 192.0.2.3\n")},
		{ID: 2, Name: "example.com", NameServer: "ns1", Serial: 1, Records: records("www A 192.0.2.60\n")},
	}})
	const soa = ". 300 IN SOA a.root. hostmaster. 5 3600 600 604800 300"
	for _, c := range []struct {
		ask                           string
		rcode                         int
		answer, authority, additional string
	}{
		{". NS", 0, ". 3600 IN NS a.root.", "", "a.root. 3600 IN A 192.0.2.1"},
		{". SOA", 0, strings.Replace(soa, "300", "3600", 1), "", ""},
		{". MX", 0, "", soa, ""},
		{"root A", 0, "", soa, ""},
		{"nothing A", 3, "", soa, ""},
		{"www.com A", 0, "", "com. 3600 IN NS ns.com.", "ns.com. 3600 IN A 192.0.2.2"},
		{"alias A", 0, "alias. 3600 IN CNAME www.org.|www.org. 3600 IN A 192.0.2.3", "", ""},
		{"www.example.com A", 0, "www.example.com. 3600 IN A 192.0.2.60", "", ""},
	} {
		for _, tcp := range []bool{false, true} {
			got := a.ask(c.ask, tcp)
			list := func(text string) []string {
				return slices.DeleteFunc(strings.Split(text, "|"), func(s string) bool { return s == "" })
			}
			if got.rcode() != c.rcode || !same(got.answer, list(c.answer)...) || !same(got.authority, list(c.authority)...) || !same(got.additional, list(c.additional)...) {
				t.Errorf("%s by tcp %v: %s", c.ask, tcp, got)
			}
		}
	}
}

// A TTL of zero is kept, and an unset one is the zone's.
func TestTTLOfZeroIsServed(t *testing.T) {
	g := example()
	g.Services[0].TTL, g.Services[0].Unprobed = farm.NoTTL, true
	g.Zones[0].Records = append(g.Zones[0].Records, farm.Record{Name: "zero", Type: "A", Data: "192.0.2.70", TTL: farm.NoTTL}, farm.Record{Name: "now", Type: farm.RecordDYNA, Data: "later", TTL: farm.NoTTL})
	g.Services = append(g.Services, farm.DNSService{ID: 2, Name: "later", Algorithm: farm.DNSPriority, TTL: 60, Unprobed: true, Backends: []farm.Backend{{ID: 4, Slot: 1, Host: "192.0.2.103", Addr: netip.MustParseAddr("192.0.2.103")}}})
	g.Zones[1].TTL = farm.NoTTL
	a := newAppliance(t, 1, g)
	for question, want := range map[string]string{
		"zero.example.com A": "zero.example.com. 0 IN A 192.0.2.70", "now.example.com A": "now.example.com. 0 IN A 192.0.2.103", "www.child.example.com A": "www.child.example.com. 0 IN A 192.0.2.60",
		"shop.example.com A": "shop.example.com. 0 IN A 192.0.2.100|shop.example.com. 0 IN A 192.0.2.101",
	} {
		if got := a.ask(question, false); !same(got.answer, strings.Split(want, "|")...) {
			t.Errorf("%s: %s, want %s", question, got, want)
		}
	}
}

func TestAliasChainsAreBounded(t *testing.T) {
	a := newAppliance(t, 1, example())
	if got := a.ask("deep.example.com A", false); len(got.answer) != 4 {
		t.Errorf("%q", got.answer)
	}
}

// A DNAME record redirects the names below it, not itself; records below it are hidden.
func TestDNAMERedirectsNamesBelowIt(t *testing.T) {
	text := "moved DNAME wild\nmoved A 192.0.2.72\nold.moved A 192.0.2.73\n*.moved TXT hidden\na.sub.moved NS ns.example.net.\n" +
		"tomoved CNAME x.moved\ntohidden MX 10 old.moved\n*.wild A 192.0.2.30\nloop DNAME loop2\nloop2 DNAME loop\nself DNAME a.self\n" +
		"long DNAME " + strings.Repeat("aaaaaaaaa.", 20) + "example.com.\n"
	a := newAppliance(t, 1, &farm.GSLB{Zones: []farm.Zone{
		{ID: 1, Name: "example.com", Records: records(text)},
		{ID: 2, Name: "example.net", Records: records("@ DNAME example.com.\n@ NS ns.example.com.\nwww A 192.0.2.74\n")},
		{ID: 3, Name: "own.moved.example.com", Records: records("@ NS ns.example.net.\nwww A 192.0.2.75\n")},
	}})
	dname, made := "moved.example.com. 3600 IN DNAME wild.example.com.", ".moved.example.com. 3600 IN CNAME "
	for question, want := range map[string][]string{
		"moved.example.com A":         {"moved.example.com. 3600 IN A 192.0.2.72"},
		"moved.example.com DNAME":     {dname},
		"moved.example.com TXT":       nil,
		"x.moved.example.com A":       {dname, "x" + made + "x.wild.example.com.", "x.wild.example.com. 3600 IN A 192.0.2.30"},
		"x.moved.example.com CNAME":   {dname, "x" + made + "x.wild.example.com."},
		"x.moved.example.com ANY":     {dname, "x" + made + "x.wild.example.com."},
		"x.moved.example.com DNAME":   {dname, "x" + made + "x.wild.example.com."},
		"old.moved.example.com A":     {dname, "old" + made + "old.wild.example.com.", "old.wild.example.com. 3600 IN A 192.0.2.30"},
		"b.a.sub.moved.example.com A": {dname, "b.a.sub" + made + "b.a.sub.wild.example.com.", "b.a.sub.wild.example.com. 3600 IN A 192.0.2.30"},
		"y.moved.example.com TXT":     {dname, "y" + made + "y.wild.example.com."},
		"tomoved.example.com A":       {"tomoved.example.com. 3600 IN CNAME x.moved.example.com.", dname, "x" + made + "x.wild.example.com.", "x.wild.example.com. 3600 IN A 192.0.2.30"},
		"x.wild.example.net A":        {"example.net. 3600 IN DNAME example.com.", "x.wild.example.net. 3600 IN CNAME x.wild.example.com.", "x.wild.example.com. 3600 IN A 192.0.2.30"},
		"www.own.moved.example.com A": {"www.own.moved.example.com. 3600 IN A 192.0.2.75"},
		"tohidden.example.com MX":     {"tohidden.example.com. 3600 IN MX 10 old.moved.example.com."},
		"x.loop.example.com A":        {"loop.example.com. 3600 IN DNAME loop2.example.com.", "x.loop.example.com. 3600 IN CNAME x.loop2.example.com.", "loop2.example.com. 3600 IN DNAME loop.example.com.", "x.loop2.example.com. 3600 IN CNAME x.loop.example.com."},
	} {
		for _, tcp := range []bool{false, true} {
			if got := a.ask(question, tcp); !same(got.answer, want...) || len(got.additional) > 0 || got.flags&flagAA == 0 || got.rcode() != 0 {
				t.Errorf("%s: %s, want %q", question, got, want)
			}
		}
	}
	if got := a.ask(strings.Repeat("bbbbbbbbb.", 6)+"long.example.com A", true); got.rcode() != 6 || len(got.answer) != 1 {
		t.Errorf("a name that is too long: %s", got)
	}
	if got := a.ask("x.self.example.com A", true); got.rcode() > 6 || len(got.answer) > 24 {
		t.Errorf("a name that points below itself: %s", got)
	}
}

// In a loop of CNAMEs each is returned once, also with a wildcard. A long chain is followed
// up to its limit.
func TestAliasLoopIsAnsweredOnce(t *testing.T) {
	text := "self CNAME Self\none CNAME Two\ntwo CNAME one\nto CNAME one\n*.a CNAME b.a\n*.c CNAME d.e\n*.e CNAME f.c\n"
	for i := range 10 {
		text += fmt.Sprintf("n%d CNAME n%d\n", i, i+1)
	}
	a := newAppliance(t, 1, &farm.GSLB{Zones: []farm.Zone{{ID: 1, Name: "example.com", Records: records(text)}}})
	for name, want := range map[string]string{
		"self": "self Self", "one": "one Two|Two one", "two": "two one|one Two", "to": "to one|one Two|Two one", "q.a": "q.a b.a|b.a b.a", "b.a": "b.a b.a",
		"q.c": "q.c d.e|d.e f.c|f.c d.e", "n0": "n0 n1|n1 n2|n2 n3|n3 n4|n4 n5|n5 n6|n6 n7|n7 n8", "n3": "n3 n4|n4 n5|n5 n6|n6 n7|n7 n8|n8 n9|n9 n10",
	} {
		var all []string
		for one := range strings.SplitSeq(want, "|") {
			from, to, _ := strings.Cut(one, " ")
			all = append(all, from+".example.com. 3600 IN CNAME "+to+".example.com.")
		}
		if got := a.ask(name+".example.com A", false); !slices.Equal(got.answer, all) {
			t.Errorf("%s: %q, want %q", name, got.answer, all)
		}
	}
}

func TestServicesAnswerWithHealthyBackends(t *testing.T) {
	a := newAppliance(t, 1, example())
	if got := a.ask("shop.example.com A", false); got.rcode() != 2 || len(got.answer) > 0 {
		t.Errorf("before the first probe: %x %q", got.flags, got.answer)
	}
	a.up(1, 2, 3)
	first, second := a.ask("shop.example.com A", false), a.ask("shop.example.com A", false)
	both := []string{"shop.example.com. 30 IN A 192.0.2.100", "shop.example.com. 30 IN A 192.0.2.101"}
	if !same(first.answer, both...) || !same(second.answer, both...) || first.answer[0] == second.answer[0] {
		t.Errorf("%q, then %q", first.answer, second.answer)
	}
	a.down(1)
	if got := a.ask("toshop.example.com A", false); !same(got.answer, "toshop.example.com. 3600 IN CNAME shop.example.com.", both[1]) {
		t.Errorf("%q", got.answer)
	}
	if got := a.ask("shop.example.com AAAA", false); !same(got.answer, "shop.example.com. 30 IN AAAA 2001:db8::100") {
		t.Errorf("%q", got.answer)
	}
	a.down(2)
	if got := a.ask("shop.example.com A", false); !same(got.answer, both...) {
		t.Errorf("all down: %q", got.answer)
	}
}

func TestOversizedAnswersAreTruncated(t *testing.T) {
	a := newAppliance(t, 1, example())
	if got := a.ask("big.example.com TXT", false); got.flags&flagTC == 0 || len(got.answer) > 0 || len(got.raw) > 10*45 {
		t.Errorf("%d bytes, flags %x", len(got.raw), got.flags)
	}
	if got := a.ask("big.example.com TXT", true); got.flags&flagTC != 0 || len(got.answer) != 1 {
		t.Errorf("%d bytes, flags %x", len(got.raw), got.flags)
	}
}

// A referral contains the addresses of all servers below the delegated name or is truncated.
// Addresses of other servers are added if they fit.
func TestAReferralHasTheAddressesOfItsServersOrIsTruncated(t *testing.T) {
	const most = 20
	whole, cut, short := 0, 0, 0
	for n := 1; n <= most; n++ {
		text := ""
		for i := range n {
			text += fmt.Sprintf("in NS ns%[1]d.in\nns%[1]d.in A 192.0.2.1\nns%[1]d.in AAAA 2001:db8::1\n", i)
			text += fmt.Sprintf("by NS ns%[1]d\nns%[1]d A 192.0.2.1\nns%[1]d AAAA 2001:db8::1\n", i)
			text += fmt.Sprintf("both NS ns%d\n", i)
			text += fmt.Sprintf("goes%d CNAME x.in\n", i)
		}
		text += "both NS z.both\nz.both A 192.0.2.1\n"
		a := newAppliance(t, 1, &farm.GSLB{Zones: []farm.Zone{{ID: 1, Name: "example.com", Records: records(text)}}})
		ask := a.engine.Answerer(7)
		for _, question := range []string{"www.in.example.com A", "in.example.com NS"} {
			got := read(t, ask(query(t, question), client))
			switch {
			case got.flags&flagTC != 0:
				cut++
				if len(got.authority)+len(got.additional) > 0 {
					t.Errorf("%d servers, %s: truncated with %q", n, question, got.authority)
				}
			case len(got.additional) != 2*n:
				t.Errorf("%d servers, %s: %d addresses of %d, and it is not truncated", n, question, len(got.additional), 2*n)
			default:
				whole++
			}
			if got = read(t, a.exchange(query(t, question), true)); got.flags&flagTC != 0 || len(got.additional) != 2*n {
				t.Errorf("%d servers, %s by TCP: flags %x, %d addresses", n, question, got.flags, len(got.additional))
			}
		}
		if got := read(t, ask(query(t, "www.by.example.com A"), client)); got.flags&flagTC == 0 && len(got.additional) < 2*n {
			short++
		}
		if got := read(t, ask(query(t, "www.both.example.com A"), client)); got.flags&flagTC == 0 && !slices.Contains(got.additional, "z.both.example.com. 3600 IN A 192.0.2.1") {
			t.Errorf("%d servers elsewhere: the one below is without its address: %q", n, got.additional)
		}
		if got := read(t, ask(query(t, "goes0.example.com A"), client)); got.flags&flagTC == 0 && len(got.authority) != n {
			t.Errorf("an alias that leads there: %d servers of %d, and it is not truncated", len(got.authority), n)
		} else if n == 8 && (got.flags&flagTC != 0 || len(got.answer) != 1) {
			t.Errorf("an alias that leads there: flags %x, %q", got.flags, got.answer)
		}
	}
	if whole == 0 || cut == 0 || short == 0 {
		t.Errorf("%d whole, %d truncated, %d without optional records", whole, cut, short)
	}
}

func TestAnswersKeepTheCaseOfTheQuery(t *testing.T) {
	a := newAppliance(t, 1, example())
	msg := query(t, "www.example.com A")
	copy(msg[12:], "\x03WwW\x07eXample\x03cOm")
	if got := read(t, a.exchange(msg, false)); !same(got.answer, "WwW.eXample.cOm. 3600 IN A 192.0.2.10", "WwW.eXample.cOm. 3600 IN A 192.0.2.11") {
		t.Errorf("%q", got.answer)
	}
}

// A zone is invisible below its parent in the same farm unless the parent delegates it.
func TestUndelegatedChildZoneIsIndependent(t *testing.T) {
	for what, c := range map[string]struct {
		upper string
		rcode int
	}{
		"not delegated": {"@ NS ns1\nns1 A 192.0.2.1", 3},
		"delegated":     {"@ NS ns1\nns1 A 192.0.2.1\na.b NS ns1", 0},
		"trusted":       {"@ NS ns1\nns1 A 192.0.2.1\na.b DS 12345 13 2 0011223344556677889900112233445566778899001122334455667788990011", 0},
		"beside a name": {"@ NS ns1\nns1 A 192.0.2.1\nc.b A 192.0.2.2", 0},
	} {
		upper := farm.Zone{ID: 1, Name: "example.com", NameServer: "ns1", Serial: 5, Records: records(c.upper)}
		lower := farm.Zone{ID: 2, Name: "a.b.example.com", NameServer: "ns1", Serial: 5, Records: records("@ NS ns1.example.com.\nwww A 192.0.2.9")}
		for _, zones := range [][]farm.Zone{{upper, lower}, {lower, upper}} {
			a := newAppliance(t, 1, &farm.GSLB{Zones: zones})
			if got := a.ask("b.example.com A", false); got.rcode() != c.rcode || !same(got.authority, soa) {
				t.Errorf("%s: the name between: %s", what, got)
			}
			if got := a.ask("www.a.b.example.com A", false); len(got.answer) != 1 {
				t.Errorf("%s: the zone below: %s", what, got)
			}
			if got := a.ask("x.example.com A", false); got.rcode() != 3 {
				t.Errorf("%s: another name: %s", what, got)
			}
		}
	}
}
