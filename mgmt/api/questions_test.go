package api_test

import (
	"encoding/json"
	"net/netip"
	"testing"
	"time"

	records "github.com/sluicelb/sluice/core/accesslog"
)

// Queries are counted only while a request for the count is open.
func TestQuestionsAreCountedForSomeSeconds(t *testing.T) {
	change, record, start := watchable(t)
	a := newAppliance(t, change)
	a.gslb()
	a.shop(1)
	cfg, _ := a.applier.Current()
	start(cfg)
	stop := make(chan struct{})
	go func() {
		ask := func(name string, rcode uint16) {
			record(func(e *records.Entry) {
				e.Proto, e.Status = records.ProtoDNS, rcode
				e.Client(netip.MustParseAddrPort("198.51.100.7:4000"))
				e.Method([]byte{0, 28})
				e.Host([]byte(name))
			})
		}
		for ; ; time.Sleep(time.Millisecond) {
			select {
			case <-stop:
				close(stop)
				return
			default:
				ask("\x03www\x07example\x03com\x00", 0)
				ask("\x03www\x07example\x03com\x00", 0)
				ask("\x02no\x07example\x03com\x00", 3)
			}
		}
	}()
	var body struct {
		Params struct {
			Seconds   float64
			Questions int
			Names     []struct {
				Name, Type string
				Times      int
			}
			Clients []struct{ Client string }
			Rcodes  []struct{ Rcode string }
		}
	}
	if err := json.Unmarshal([]byte(a.must(200, "GET", "/farms/names/questions?seconds=1&most=1", "").raw), &body); err != nil {
		t.Fatal(err)
	}
	stop <- struct{}{}
	<-stop
	p := body.Params
	if p.Seconds < 1 || p.Questions < 3 || len(p.Names) != 1 || p.Names[0].Name != "www.example.com." || p.Names[0].Type != "AAAA" || p.Names[0].Times < p.Questions/2 ||
		len(p.Clients) != 1 || p.Clients[0].Client != "198.51.100.7" || len(p.Rcodes) != 1 || p.Rcodes[0].Rcode != "NOERROR" {
		t.Errorf("%+v", p)
	}
	for path, want := range map[string]string{
		"/farms/shop/questions":             "only farms of profile gslb are asked questions",
		"/farms/names/questions?seconds=31": "allowed are numbers from 1 to 30",
		"/farms/names/questions?most=0":     "allowed are numbers from 1 to 1000",
	} {
		a.do("GET", path, "").refused(t, 400, want)
	}
}
