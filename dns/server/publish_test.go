package server_test

import (
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
)

func TestZonesChangeWithoutALostQuery(t *testing.T) {
	a := newAppliance(t, 2, example())
	msg := query(t, "www.example.com A")
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			c, err := net.Dial("udp", a.farm.AddrPort().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for buf := make([]byte, 1500); ; {
				select {
				case <-stop:
					return
				default:
				}
				_ = c.SetDeadline(time.Now().Add(5 * time.Second))
				_, _ = c.Write(msg)
				if _, err := c.Read(buf); err != nil || buf[3]&0xf != 0 || buf[7] != 2 {
					t.Errorf("%v: %x", err, buf[:12])
					return
				}
			}
		})
	}
	for i := range 100 {
		g := example()
		g.Zones[0].Serial = uint32(100 + i)
		a.farm.Global = g
		a.publish(a.farm)
	}
	close(stop)
	wg.Wait()
	if got := a.ask("example.com SOA", false); !strings.Contains(got.answer[0], " 199 3600 ") {
		t.Errorf("%q", got.answer)
	}
}

func TestInvalidFarmChangesNothing(t *testing.T) {
	a := newAppliance(t, 1, example())
	for wrong, edit := range map[string]func(*farm.GSLB){
		`record 0 (x A): "one" is no data of A`: func(g *farm.GSLB) { g.Zones[0].Records = []farm.Record{{ID: 1, Name: "x", Type: "A", Data: "one"}} },
		`there is no service "gone"`:            func(g *farm.GSLB) { g.Zones[0].Records = []farm.Record{{ID: 1, Name: "x", Type: "DYNA", Data: "gone"}} },
		`zone "example.com" is there twice`:     func(g *farm.GSLB) { g.Zones[1].Name = "example.com" },
		`zone "a..b"`:                           func(g *farm.GSLB) { g.Zones[1].Name = "a..b" },
		`it is not in the zone`: func(g *farm.GSLB) {
			g.Zones[0].Records = []farm.Record{{ID: 1, Name: "www.example.org.", Type: "A", Data: "192.0.2.1"}}
		},
		`several SOA records`: func(g *farm.GSLB) { g.Zones[0].Records = records("@ SOA a b 1 2 3 4 5\n@ SOA c d 1 2 3 4 5") },
	} {
		g := example()
		edit(g)
		f := a.farm
		f.Global = g
		_, err := a.engine.Publish(a.gen+1, &farm.Config{Farms: []farm.Farm{f}}, a.Files)
		if err == nil || !strings.Contains(err.Error(), wrong) || !strings.Contains(err.Error(), `farm "names"`) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	if got := a.ask("www.example.com A", false); len(got.answer) != 2 {
		t.Errorf("%q", got.answer)
	}
}

// Every change of a zone is served, with or without a higher serial.
func TestEveryChangeOfAZoneIsServed(t *testing.T) {
	a := newAppliance(t, 1, example())
	for what, c := range map[string]struct {
		edit      func(g *farm.GSLB)
		ask, want string
	}{
		"a value":    {func(g *farm.GSLB) { g.Zones[0].Records[5].Data = "192.0.2.99" }, "www.example.com A", "www.example.com. 3600 IN A 192.0.2.99"},
		"a ttl":      {func(g *farm.GSLB) { g.Zones[0].Records[5].TTL = 7 }, "www.example.com A", "www.example.com. 7 IN A 192.0.2.10"},
		"the zone's": {func(g *farm.GSLB) { g.Zones[0].TTL = 8 }, "mail.example.com A", "mail.example.com. 8 IN A 192.0.2.20"},
		"a record":   {func(g *farm.GSLB) { g.Zones[0].Records = append(g.Zones[0].Records, records("new A 192.0.2.77")...) }, "new.example.com A", "new.example.com. 3600 IN A 192.0.2.77"},
		"a zone":     {func(g *farm.GSLB) { g.Zones[1].Name = "example.net" }, "www.example.net A", "www.example.net. 3600 IN A 192.0.2.60"},
		"the server": {func(g *farm.GSLB) { g.Zones[0].NameServer = "ns9" }, "example.com SOA", "example.com. 3600 IN SOA ns9.example.com. hostmaster.example.com. 5 3600 600 604800 300"},
		"the services": {func(g *farm.GSLB) {
			g.Services = append([]farm.DNSService{{ID: 9, Name: "other"}}, g.Services...)
			g.Services[1].Unprobed = true
		}, "shop.example.com AAAA", "shop.example.com. 30 IN AAAA 2001:db8::100"},
	} {
		g := example()
		c.edit(g)
		a.farm.Global = g
		a.publish(a.farm)
		if got := a.ask(c.ask, false); !strings.Contains(strings.Join(got.answer, "|"), c.want) {
			t.Errorf("%s: %q, want %q", what, got.answer, c.want)
		}
		a.farm.Global = example()
		a.publish(a.farm)
	}
}

func TestStoppedFarmAnswersNoQuery(t *testing.T) {
	a := newAppliance(t, 1, example())
	c := a.dial()
	_, _ = c.Write(framed(query(t, "www.example.com A")))
	message(t, c)
	stopped := a.farm
	stopped.Stopped = true
	a.publish(stopped)
	if len(a.engine.Listeners()) != 0 {
		t.Errorf("it listens on %v", a.engine.Listeners())
	}
	_, _ = c.Write(framed(query(t, "www.example.com A")))
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("an earlier client is answered")
	}
}

func TestAnswersAreExplained(t *testing.T) {
	a := newAppliance(t, 1, example())
	a.up(1)
	a.down(2)
	x, err := a.engine.Explain(&explain.Question{Farm: 7, Name: "toshop.example.com", From: "203.0.113.0/24"})
	if err != nil {
		t.Fatal(err)
	}
	p := x.Passport
	if p.Rcode != "NOERROR" || p.Zone != "example.com" || p.Serial != 5 || p.Service != "shop" || p.Algorithm != "roundrobin" || x.From != "203.0.113.0/24" {
		t.Errorf("%+v", p)
	}
	if !same(p.Records, "toshop.example.com. 3600 IN CNAME shop.example.com.", "shop.example.com. 30 IN A 192.0.2.100") {
		t.Errorf("%q", p.Records)
	}
	if len(p.Path) != 2 || p.Path[0].Type != "CNAME" || p.Path[1].Type != "DYNA" || p.Path[1].Name != "shop.example.com." {
		t.Errorf("%+v", p.Path)
	}
	if len(p.Candidates) != 2 || !p.Candidates[0].Taken || p.Candidates[1].Taken || p.Candidates[1].Status != "down" || p.Candidates[1].Reason != "it is down" {
		t.Errorf("%+v", p.Candidates)
	}
	for want, q := range map[string]explain.Question{
		"name": {Farm: 7, Name: "x..y"}, "type": {Farm: 7, Name: "a.b", Type: "XYZ"}, "from": {Farm: 7, Name: "a.b", From: "here"}, "does not serve": {Farm: 8, Name: "a.b"},
	} {
		if _, err := a.engine.Explain(&q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for name, want := range map[string]string{
		"nothing.example.com": "no such name", "www.example.org": "no zone of the farm", "www.sub.example.com": "delegated", "www.example.com": "has the records", "wild.example.com": "no records of the type",
	} {
		x, err := a.engine.Explain(&explain.Question{Farm: 7, Name: name})
		if err != nil || !strings.Contains(x.Result.Reason, want) {
			t.Errorf("%s: %v, %q", name, err, x.Result.Reason)
		}
	}
	for kind, want := range map[string]string{"AXFR": "a zone is copied by TCP", "IXFR": "a zone is copied by TCP", "ANY": "who asks for everything is told one thing"} {
		x, err := a.engine.Explain(&explain.Question{Farm: 7, Name: "example.com", Type: kind})
		if err != nil || !strings.Contains(x.Result.Reason, want) {
			t.Errorf("%s: %v, %q", kind, err, x.Result.Reason)
		}
	}
	fallback := []netip.Addr{netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("2001:db8::7")}
	for _, c := range []struct {
		policy       farm.AllDown
		kind         string
		up, down     []uint32
		want, record string
	}{
		{"", "A", []uint32{1, 2}, nil, "the service shop chose", " A 192.0.2.10"},
		{"", "A", nil, []uint32{1, 2, 3}, "no backend of the service shop works, and it then answers as if all did", " A 192.0.2.10"},
		{farm.AllDownFallback, "A", nil, []uint32{1, 2, 3}, "no backend of the service shop works, and it then answers with its fallback addresses", " A 203.0.113.7"},
		{farm.AllDownFallback, "AAAA", nil, []uint32{1, 2, 3}, "no backend of the service shop works, and it then answers with its fallback addresses", " AAAA 2001:db8::7"},
		{farm.AllDownFail, "AAAA", nil, []uint32{1, 2, 3}, "no backend of the service shop works, and it then has questions fail", ""},
		{farm.AllDownNone, "AAAA", nil, []uint32{1, 2, 3}, "the service shop has no address of the type to answer with", ""},
	} {
		a.up(c.up...)
		a.down(c.down...)
		a.farm.Global.Services[0].AllDown, a.farm.Global.Services[0].Fallback = c.policy, fallback
		a.publish(a.farm)
		x, err := a.engine.Explain(&explain.Question{Farm: 7, Name: "shop.example.com", Type: c.kind})
		if err != nil || x.Result.Reason != c.want || !strings.Contains(strings.Join(x.Passport.Records, " "), c.record) {
			t.Errorf("%s %s: %v, %q, %q", c.policy, c.kind, err, x.Result.Reason, x.Passport.Records)
		}
	}
	if a.Segment.SumFarm(7).Queries != 0 {
		t.Error("explanations are counted")
	}
}
