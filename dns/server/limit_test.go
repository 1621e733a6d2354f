package server_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/dns/server"
)

func TestQueryRateIsLimitedPerNet(t *testing.T) {
	g := example()
	g.QueryRate, g.Slip = 5, 3
	a := newAppliance(t, 1, g)
	ask := a.engine.Answerer(7)
	msg := query(t, "www.example.com A")
	answered, slipped := 0, 0
	for i := range 20 {
		switch out := ask(msg, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})); {
		case out == nil:
		case out[2]&2 == 0:
			answered++
		case len(out) > len(msg) || out[3]&0xf != 0 || out[7]+out[9] != 0:
			t.Errorf("beyond the limit: %x", out)
		default:
			slipped++
		}
	}
	if answered != 5 || slipped != 5 {
		t.Errorf("%d of 20 are answered, want 5, and %d truncated, want 5", answered, slipped)
	}
	// A client whose net is spoofed uses TCP and is not limited.
	for range 5 {
		if got := a.ask("www.example.com A", true); len(got.answer) != 2 {
			t.Errorf("by TCP: %s", got)
		}
	}
	if out := ask(msg[:14], netip.MustParseAddr("192.0.2.9")); out != nil {
		t.Errorf("an unreadable query over the limit is answered: %x", out)
	}
	if ask(msg, netip.MustParseAddr("192.0.3.1")) == nil {
		t.Error("another net pays for it")
	}
	if got := a.Segment.SumFarm(7); got.LimitedAsks != 11 || got.SlippedAsks != 5 || got.Queries != 11 {
		t.Errorf("counters: %d limited, %d truncated, %d queries", got.LimitedAsks, got.SlippedAsks, got.Queries)
	}
}

func TestResponseRateIsLimitedPerAnswer(t *testing.T) {
	g := example()
	g.AnswerRate, g.Slip = 10, 3
	a := newAppliance(t, 1, g)
	ask := a.engine.Answerer(7)
	count := func(question func(i int) string) (whole, truncated int) {
		for i := range 40 {
			out := ask(query(t, question(i)), client)
			switch {
			case out == nil:
			case out[2]&2 != 0:
				truncated++
			default:
				whole++
			}
		}
		return whole, truncated
	}
	if whole, truncated := count(func(int) string { return "www.example.com A" }); whole != 10 || truncated != 10 {
		t.Errorf("one name: %d whole, %d truncated, want 10 and 10", whole, truncated)
	}
	if whole, truncated := count(func(i int) string { return fmt.Sprintf("x%d.example.com A", i) }); whole != 10 || truncated != 10 {
		t.Errorf("names that do not exist: %d whole, %d truncated", whole, truncated)
	}
	many := ""
	for i := range 40 {
		many += fmt.Sprintf("own%d A 192.0.2.80\n", i)
	}
	g.Zones[0].Records = append(g.Zones[0].Records, records(many+"*.towild CNAME x.wild\nold DNAME wild\nsub2 NS ns1\n")...)
	a.publish(a.farm)
	ask = a.engine.Answerer(7)
	for question, want := range map[string]int{
		"own%d.example.com A":          40, // other records
		"a%d.wild.example.com A":       10, // the same wildcard
		"a%d.towild.example.com A":     10,
		"a%d.old.example.com A":        10, // the same DNAME
		"a%d.sub.example.com A":        10, // the same delegation
		"a%d.sub2.example.com A":       10,
		"a%d.example.org A":            10, // refused
		"www.example.com TYPE10%02d":   10, // no such records of one name
		"mail.example.com MX":          10,
		"alias.example.com TYPE10%02d": 10, // the same CNAME
		"ns1.example.com A":            10,
		"ns1.example.com AAAA":         10, // other records
	} {
		whole, _ := count(func(i int) string {
			if strings.Contains(question, "%") {
				return fmt.Sprintf(question, i)
			}
			return question
		})
		if whole != want {
			t.Errorf("%s: %d whole, want %d", question, whole, want)
		}
	}
	if whole, _ := count(func(int) string { return "a.b.sub.example.com AAAA" }); whole != 0 {
		t.Errorf("the delegation counts each name below it: %d whole", whole)
	}
	if whole, _ := count(func(int) string { return "mail.example.com SRV" }); whole != 0 {
		t.Errorf("the answer that the type does not exist counts by type: %d whole", whole)
	}
	for range 30 {
		if got := a.ask("www.example.com A", true); len(got.answer) != 2 {
			t.Fatal("by TCP there is a limit, too")
		}
	}
}

// An answer with another content has its own limit.
func TestResponseRateIsPerCode(t *testing.T) {
	g := example()
	g.AnswerRate = 5
	a := newAppliance(t, 1, g)
	ask := a.engine.Answerer(7)
	whole := func() (n int) {
		for range 20 {
			if out := ask(query(t, "shop.example.com A"), client); out != nil && out[2]&2 == 0 {
				n++
			}
		}
		return n
	}
	failed := whole() // no backend is known to work
	a.up(1, 2, 3)
	if answered := whole(); failed != 5 || answered != 5 {
		t.Errorf("%d failures and %d addresses were answered, want 5 of each", failed, answered)
	}
}

// Answers that no zone gives have their own limits, too.
func TestResponseRateIsPerServerQuery(t *testing.T) {
	g := example()
	g.AnswerRate, g.ServerVersion, g.NSID = 5, "mine", "ns1"
	ask := newAppliance(t, 1, g).engine.Answerer(7)
	for _, name := range []string{"version.bind", "hostname.bind"} {
		msg := query(t, name+" TXT")
		msg[12+len(name)+2+3] = 3 // CHAOS
		n := 0
		for range 20 {
			if out := ask(msg, client); out != nil && out[2]&2 == 0 && out[7] == 1 {
				n++
			}
		}
		if n != 5 {
			t.Errorf("%s: %d answers, want 5", name, n)
		}
	}
}

// Clients whose address may be spoofed get at most ten times the size of their query.
func TestAmplificationIsBounded(t *testing.T) {
	list := []farm.Record{}
	for i := range 60 {
		list = append(list, farm.Record{Name: "many", Type: "A", Data: fmt.Sprintf("192.0.2.%d", i)})
	}
	a := newAppliance(t, 1, &farm.GSLB{Zones: []farm.Zone{{ID: 1, Name: "example.com", Records: list}}})
	ask := a.engine.Answerer(7)
	msg := query(t, "many.example.com A")
	out := ask(msg, client)
	if len(out) > 10*len(msg) || out[2]&2 == 0 {
		t.Errorf("%d bytes for %d", len(out), len(msg))
	}
	out = ask(withCookie(msg, "\x01\x02\x03\x04\x05\x06\x07\x08"), client)
	verified := withCookie(msg, string(out[len(out)-24:]))
	if out = ask(verified, client); out[2]&2 != 0 || len(out) < 60*16 {
		t.Errorf("with a cookie: %d bytes, flags %x", len(out), out[2])
	}
	if out = ask(verified, netip.MustParseAddr("192.0.2.201")); out[2]&2 == 0 {
		t.Error("another client uses the cookie")
	}
}

// Exactly ten times the query size: 22 addresses are one byte too many here.
func TestTheBoundOfAmplificationIsExact(t *testing.T) {
	list := []farm.Record{}
	for i := range 22 {
		list = append(list, farm.Record{Name: "aaaaaaaaa", Type: "A", Data: fmt.Sprintf("192.0.2.%d", i)})
	}
	msg := query(t, "aaaaaaaaa.example.com A")[:39]
	msg[11] = 0 // without EDNS
	for n, truncated := range map[int]bool{21: false, 22: true} {
		a := newAppliance(t, 1, &farm.GSLB{Zones: []farm.Zone{{ID: 1, Name: "example.com", Records: list[:n]}}})
		if out := a.engine.Answerer(7)(msg, client); out[2]&2 != 0 != truncated || !truncated && len(out) != 39+21*16 {
			t.Errorf("%d addresses: %d bytes, flags %x", n, len(out), out[2])
		}
	}
}

// Memory of a batch is reused by the next one.
func TestBatchedAnswersReuseMemory(t *testing.T) {
	a := newAppliance(t, 1, example())
	for range 3000 {
		a.ask("www.example.com A", false)
	}
	if got := a.engine.Space(); got != server.FirstSpace {
		t.Errorf("%d bytes, at first %d", got, server.FirstSpace)
	}
}

func TestVersionIsAnsweredWhenConfigured(t *testing.T) {
	g := example()
	a := newAppliance(t, 1, g)
	ask := a.engine.Answerer(7)
	chaos := query(t, "version.bind TXT")
	chaos[12+14+3] = 3
	if out := ask(chaos, client); out[3]&0xf != 5 {
		t.Errorf("answer %x", out)
	}
	g.ServerVersion = "none of your business"
	a.publish(a.farm)
	if out := read(t, a.exchange(chaos, false)); len(out.answer) != 1 || out.answer[0] != `version.bind. 0 CH TXT "none of your business"` {
		t.Errorf("%q", out.answer)
	}
}

func TestAnswersAreCounted(t *testing.T) {
	a := newAppliance(t, 1, example())
	for _, ask := range []string{"www.example.com A", "nothing.example.com A", "www.example.org A", "shop.example.com A", "big.example.com TXT"} {
		a.ask(ask, false)
	}
	a.ask("www.example.com A", true)
	a.exchange([]byte("\x12\x34\x01\x00\x00\x02\x00\x00\x00\x00\x00\x00"), false)
	enginetest.Eventually(t, "all are counted", func() bool { return a.Segment.SumFarm(7).BadMessages == 1 })
	got := a.Segment.SumFarm(7)
	if got.Queries != 6 || got.QueriesTCP != 1 || got.NoErrors != 3 || got.NXDomains != 1 || got.RefusedNames != 1 || got.ServFails != 1 || got.Truncated != 1 ||
		got.PacketsIn != 6 || got.PacketsOut != 6 || got.BytesIn == 0 || got.BytesOut == 0 || got.Connections != 1 {
		t.Errorf("%+v", got)
	}
}

// Spoofed queries do not use up the limit of verified clients.
func TestSpoofedQueriesDoNotConsumeVerifiedLimits(t *testing.T) {
	g := example()
	g.QueryRate = 5
	a := newAppliance(t, 1, g)
	ask := a.engine.Answerer(7)
	msg := query(t, "www.example.com A")
	known := withCookie(msg, "\x01\x02\x03\x04\x05\x06\x07\x08")
	out := ask(known, client)
	known = withCookie(msg, string(out[len(out)-24:]))
	for range 20 {
		ask(msg, client)
	}
	if ask(msg, client) != nil {
		t.Fatal("there is no limit")
	}
	for i := range 5 {
		if ask(known, client) == nil {
			t.Fatalf("question %d of a client with a cookie is not answered", i)
		}
	}
	if ask(known, client) != nil {
		t.Error("with a cookie there is no limit")
	}
	if got := read(t, a.exchange(msg, true)); len(got.answer) != 2 {
		t.Errorf("%q", got.answer)
	}
}

// withCookie adds a cookie to a query with EDNS without options.
func withCookie(msg []byte, cookie string) []byte {
	n := byte(len(cookie))
	out := append(append([]byte(nil), msg...), 0, 10, 0, n)
	out[len(msg)-1] = n + 4 // of options
	return append(out, cookie...)
}
