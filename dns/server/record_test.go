package server_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
)

type nobody struct{}

func (nobody) Wake() {}

// record is a record read back.
type record struct {
	accesslog.Exchange
	client             netip.AddrPort
	name, kind, reason string
}

// recorder collects the records of an engine.
type recorder struct {
	*accesslog.Segment
	read func() []record // returns the current records
}

func newRecorder(t *testing.T) recorder {
	t.Helper()
	segment, err := accesslog.OpenSegment(make([]byte, accesslog.SegmentSize))
	if err != nil {
		t.Fatal(err)
	}
	r := segment.Reader()
	return recorder{segment, func() (list []record) {
		r.Drain(func(rec *accesslog.Record) {
			list = append(list, record{rec.Exchange, rec.Client, rdata.NameText(rec.Host), rdata.TypeText(binary.BigEndian.Uint16(rec.Method)), string(rec.Reason)})
		})
		return list
	}}
}

func (r recorder) of(a *appliance) { a.engine.Record(r.Segment, r.Writers(len(a.Loops), nobody{})) }

func TestQueriesAreRecorded(t *testing.T) {
	g := example()
	g.Logs = true
	records := newRecorder(t)
	a := newAppliance(t, 1, g, records.of)
	a.up(1, 2, 3)
	for _, c := range []struct {
		question   string
		tcp        bool
		name, kind string
		want       accesslog.Exchange
	}{
		{"WWW.example.com A", false, "www.example.com.", "A", accesslog.Exchange{Proto: accesslog.ProtoDNS, Flags: accesslog.Logged}},
		{"none.example.com MX", true, "none.example.com.", "MX", accesslog.Exchange{Proto: accesslog.ProtoDNSTCP, Flags: accesslog.Logged, Status: 3}},
		{"example.net TXT", false, "example.net.", "TXT", accesslog.Exchange{Proto: accesslog.ProtoDNS, Flags: accesslog.Logged, Status: 5}},
		{"big.example.com TXT", false, "big.example.com.", "TXT", accesslog.Exchange{Proto: accesslog.ProtoDNS, Flags: accesslog.Logged | accesslog.Truncated}},
		{"toshop.example.com AAAA", false, "toshop.example.com.", "AAAA", accesslog.Exchange{Proto: accesslog.ProtoDNS, Flags: accesslog.Logged, Service: 1, Backend: 3, Why: accesslog.WhyAlgorithm}},
	} {
		before := time.Now()
		msg := query(t, c.question)
		reply := a.exchange(msg, c.tcp)
		list := records.read()
		if len(list) != 1 {
			t.Fatalf("%s: %d records", c.question, len(list))
		}
		got := list[0]
		c.want.Farm, c.want.BytesIn, c.want.BytesOut = 7, uint64(len(msg)), uint64(len(reply))
		at := time.Unix(0, got.Time)
		if got.Time = 0; got.Exchange != c.want || got.name != c.name || got.kind != c.kind {
			t.Errorf("%s: the record is %s %s\n%+v, want\n%+v", c.question, got.name, got.kind, got.Exchange, c.want)
		}
		if at.Before(before.Add(-time.Second)) || got.client.Addr() != netip.MustParseAddr("127.0.0.1") || got.client.Port() == 0 {
			t.Errorf("%s: at %v from %v", c.question, at, got.client)
		}
	}
	if n := a.Segment.SumFarm(7).ServiceChosen; n != 1 {
		t.Errorf("%d answers count as chosen, want 1", n)
	}
	if n := a.Segment.SumBackend(3).Requests; n != 1 {
		t.Errorf("the backend counts %d answers, want 1", n)
	}
}

func TestOnlyWantedRecordsAreLeft(t *testing.T) {
	records := newRecorder(t)
	a := newAppliance(t, 1, example(), records.of)
	a.ask("www.example.com A", false)
	if list := records.read(); len(list) != 0 {
		t.Errorf("records without logging or watchers: %+v", list)
	}
	records.Watch(7, true)
	a.ask("www.example.com A", false)
	if list := records.read(); len(list) != 1 || list[0].Flags != accesslog.Watched {
		t.Errorf("records with a watcher: %+v", list)
	}
	records.Watch(7, false)
	g := *a.farm.Global
	g.Logs, g.AccessLog.Sample = true, 10
	a.farm.Global = &g
	a.publish(a.farm)
	for range 400 {
		a.exchange(query(t, "www.example.com A"), false)
	}
	if n := len(records.read()); n < 10 || n > 100 {
		t.Errorf("%d of 400 are logged, one in 10 should be", n)
	}
}

func TestRecordsHoldTheReasonOfAnAnswer(t *testing.T) {
	g := example()
	g.Logs = true
	records := newRecorder(t)
	a := newAppliance(t, 1, g, records.of)
	for _, c := range []struct {
		policy   farm.AllDown
		up, down []uint32
		question string
		want     string
	}{
		{"", nil, nil, "shop.example.com A", "no check of the service has a result yet"},
		{"", nil, nil, "www.example.com A", ""},
		{"", nil, nil, "none.example.com A", ""},
		{"", nil, nil, "example.net A", "no zone of the farm has the name"},
		{"", nil, nil, "example.com AXFR", "may not transfer the zone"},
		{"", []uint32{1, 2}, []uint32{3}, "toshop.example.com A", ""},
		{"", []uint32{1, 2, 3}, nil, "www.example.com A", ""},
		{"", nil, []uint32{1, 2, 3}, "shop.example.com A", "no backend of the service works: its policy is to answer with all of them"},
		{farm.AllDownFail, nil, []uint32{1, 2, 3}, "shop.example.com A", "no backend of the service works: its policy is to fail"},
		{farm.AllDownNone, nil, []uint32{1, 2, 3}, "toshop.example.com A", "no backend of the service works: its policy is to answer without an address"},
		{farm.AllDownFallback, nil, []uint32{1, 2, 3}, "shop.example.com A", "no backend of the service works: its policy is to answer with fallback addresses"},
		{farm.AllDownFallback, nil, nil, "www.example.com A", ""},
	} {
		a.up(c.up...)
		a.down(c.down...)
		edited := *a.farm.Global
		edited.Services = slices.Clone(edited.Services)
		edited.Services[0].AllDown, edited.Services[0].Fallback = c.policy, []netip.Addr{netip.MustParseAddr("203.0.113.7")}
		a.farm.Global = &edited
		a.publish(a.farm)
		records.read()
		a.exchange(query(t, c.question), false)
		list := records.read()
		if len(list) != 1 {
			t.Fatalf("%s: %d records", c.question, len(list))
		}
		if got := list[0].reason; (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("policy %q, %s: reason %q, want %q", c.policy, c.question, got, c.want)
		}
	}
}

// Transfers, complete or not, and messages with a wrong signature leave records, too.
func TestTransfersAndWrongSignaturesLeaveRecords(t *testing.T) {
	key, other := transferKey("ns2.example.com", "0123456789abcdef"), transferKey("ns2.example.com", "fedcba9876543210")
	stranger := transferKey("stranger", "0123456789abcdef")
	g := example()
	g.Logs, g.Keys = true, []farm.TransferKey{key}
	for i := range 60_000 { // more than the buffers of a connection
		r := farm.Record{Name: fmt.Sprintf("h%d.%s", i, strings.Repeat("x", 60)), Type: "TXT", Data: strings.Repeat("x", 200)}
		g.Zones[0].Records = append(g.Zones[0].Records, r)
	}
	records := newRecorder(t)
	a := newAppliance(t, 1, g, records.of)
	a.up(1, 2, 3)
	one := func() record {
		t.Helper()
		var list []record
		enginetest.Eventually(t, "a record is there", func() bool {
			list = append(list, records.read()...)
			return len(list) > 0
		})
		if len(list) != 1 {
			t.Fatalf("%d records: %+v", len(list), list)
		}
		return list[0]
	}
	for _, c := range []struct {
		key     *farm.TransferKey
		kind    string
		status  uint16
		reason  string
		atLeast uint64
	}{
		{&key, "AXFR", 0, "", 60_000 * 200}, {&key, "IXFR=4", 0, "", 60_000 * 200},
		{&key, "IXFR=5", 0, "", 100}, {&key, "SOA", 0, "", 100},
		{&other, "AXFR", 9, "BADSIG", 12}, {&other, "SOA", 9, "BADSIG", 12}, {&stranger, "AXFR", 9, "BADKEY", 12},
	} {
		a.dig(c.key, "+tcp", "example.com", c.kind)
		kind, _, _ := strings.Cut(c.kind, "=")
		if got := one(); got.kind != kind || got.name != "example.com." || got.Status != c.status ||
			got.BytesOut < c.atLeast || got.BytesIn < 30 || got.Proto != accesslog.ProtoDNSTCP ||
			got.client.Port() == 0 || got.Service != 0 || got.Flags != accesslog.Logged ||
			(got.reason == "") != (c.reason == "") || !strings.Contains(got.reason, c.reason) {
			t.Errorf("%s with %s: %+v", c.kind, c.key, got)
		}
	}
	g = example()
	g.Logs, g.Transfers = true, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	g.Zones = a.farm.Global.Zones
	a.farm.Global = g
	a.publish(a.farm)
	for _, silent := range []bool{false, true} {
		c := a.dial()
		_, _ = c.Write(framed(query(t, "example.com AXFR")))
		message(t, c)
		if !silent {
			_ = c.Close()
		}
		var list []record
		enginetest.Eventually(t, fmt.Sprint("the transfer is aborted, silent ", silent), func() bool {
			if silent {
				enginetest.Advance(a.Loops[0], time.Minute)
			}
			list = append(list, records.read()...)
			return len(list) > 0
		})
		got := list[0]
		flags, reason := accesslog.AbortedByClient, ""
		if silent {
			flags, reason = accesslog.AbortedHere, "the client stopped reading the transfer"
		}
		if got.Flags != accesslog.Logged|flags || got.reason != reason || got.kind != "AXFR" || got.BytesOut == 0 {
			t.Errorf("aborted, by a silent client %v: %+v", silent, got)
		}
	}
}
