package server_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/doh"
	"github.com/sluicelb/sluice/core/farm"
)

// byHTTPS sends a query to a farm as layer 7 does, on the loop.
func (a *appliance) byHTTPS(farm string, msg []byte) (raw []byte, fresh uint32, what doh.Outcome) {
	raw, fresh, _, what = a.byHTTPSFrom("192.0.2.77:4711", farm, msg)
	return raw, fresh, what
}

func (a *appliance) byHTTPSFrom(from, farm string, msg []byte) (raw []byte, fresh uint32, private bool, what doh.Outcome) {
	done := make(chan struct{})
	a.Loops[0].Post(func() {
		defer close(done)
		var answer doh.Answer
		answer, what = a.engine.AnswerHTTPS(0, farm, msg, netip.MustParseAddrPort(from))
		raw, fresh, private = append(raw, answer.Message...), answer.Fresh, answer.Private
	})
	<-done
	return raw, fresh, private, what
}

// An answer for the client's net is not shared with other nets, and each IPv4 net has its
// own limit in any notation.
func TestHTTPSAnswersDependOnTheClientNet(t *testing.T) {
	g := example()
	g.QueryRate = 3
	g.Services[0].Algorithm = farm.DNSHash
	a := newAppliance(t, 1, g)
	a.up(1, 2, 3)
	for question, private := range map[string]bool{"shop.example.com A": true, "www.example.com A": false} {
		if _, _, got, what := a.byHTTPSFrom("192.0.2.77:1", "names", query(t, question)); got != private || what != doh.Answered {
			t.Errorf("%s: private %v, %v", question, got, what)
		}
	}
	for range 6 {
		a.byHTTPSFrom("[::ffff:203.0.113.1]:1", "names", query(t, "www.example.com A"))
	}
	for from, want := range map[string]doh.Outcome{
		"[::ffff:203.0.113.9]:1": doh.Limited, "203.0.113.5:1": doh.Limited, "[::ffff:198.51.100.1]:1": doh.Answered, "[2001:db8::1]:1": doh.Answered,
	} {
		if _, _, _, what := a.byHTTPSFrom(from, "names", query(t, "www.example.com A")); what != want {
			t.Errorf("%s: %v, want %v", from, what, want)
		}
	}
}

func TestQueriesOverHTTPSAreAnswered(t *testing.T) {
	g := example()
	g.QueryRate = 12
	records := newRecorder(t)
	records.Watch(7, true)
	a := newAppliance(t, 1, g, records.of)
	a.up(1, 2, 3)
	for question, want := range map[string]struct {
		fresh uint32
		says  string
	}{
		"www.example.com A":     {3600, "www.example.com. 3600 IN A 192.0.2.10"},
		"toshop.example.com A":  {30, "shop.example.com. 30 IN A 192.0.2.100"}, // CNAME of 3600 s
		"nothing.example.com A": {300, ""},                                     // of the SOA record
		"mail.example.com AAAA": {300, ""},
		"www.example.org A":     {0, ""}, // refused
		"example.com AXFR":      {0, ""},
	} {
		raw, fresh, what := a.byHTTPS("names", query(t, question))
		if what != doh.Answered {
			t.Fatalf("%s: got %v, want %v", question, what, doh.Answered)
		}
		if got := read(t, raw); fresh != want.fresh || !strings.Contains(strings.Join(got.answer, "|"), want.says) {
			t.Errorf("%s: fresh %d, %q", question, fresh, got.answer)
		}
	}
	if list := records.read(); len(list) != 6 || list[0].Proto != accesslog.ProtoDNSHTTPS || list[0].client.String() != "192.0.2.77:4711" {
		t.Errorf("%d records: %+v", len(list), list)
	}
	if raw, _, _ := a.byHTTPS("names", padded(t, "www.example.com A")); len(raw) != 468 {
		t.Errorf("%d bytes for a padded query", len(raw))
	}
	for _, msg := range [][]byte{nil, []byte("short"), append([]byte{0, 0, 0x80}, make([]byte, 20)...)} {
		if _, _, what := a.byHTTPS("names", msg); what != doh.Unreadable {
			t.Errorf("%x: got %v, want %v", msg, what, doh.Unreadable)
		}
	}
	if _, _, what := a.byHTTPS("other", query(t, "www.example.com A")); what != doh.Absent {
		t.Errorf("a farm that is not there: got %v, want %v", what, doh.Absent)
	}
	what := doh.Answered
	for range 12 {
		_, _, what = a.byHTTPS("names", query(t, "www.example.com A"))
	}
	if what != doh.Limited {
		t.Errorf("a client over its limit: got %v, want %v", what, doh.Limited)
	}
	if got := a.ask("www.example.com A", false); len(got.answer) != 2 { // another net
		t.Errorf("afterwards by UDP: %q", got.answer)
	}
	if rec := records.read(); rec[len(rec)-1].Proto != accesslog.ProtoDNS {
		t.Errorf("afterwards by UDP: got %v, want %v", rec[len(rec)-1].Proto, accesslog.ProtoDNS)
	}
	if s := a.Segment.SumFarm(7); s.QueriesTCP == 0 || s.BytesOut == 0 {
		t.Errorf("%+v", s)
	}
}
