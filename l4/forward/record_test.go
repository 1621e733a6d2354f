package forward_test

import (
	"io"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

type nobody struct{}

func (nobody) Wake() {}

// recorded enables records and returns a function that returns the next one, with the
// client's address separately.
func recorded(t *testing.T, a *appliance) (next func() (accesslog.Exchange, netip.AddrPort)) {
	t.Helper()
	segment, err := accesslog.OpenSegment(a.Memory(t, accesslog.SegmentSize))
	if err != nil {
		t.Fatal(err)
	}
	a.records = segment
	a.engine.Record(segment, segment.Writers(len(a.loops), nobody{}))
	r := segment.Reader()
	type told struct {
		accesslog.Exchange
		client netip.AddrPort
	}
	var list []told
	return func() (accesslog.Exchange, netip.AddrPort) {
		t.Helper()
		eventually(t, "a record", func() bool {
			r.Drain(func(rec *accesslog.Record) {
				list = append(list, told{rec.Exchange, rec.Client})
				a.reasons = append(a.reasons, string(rec.Reason))
			})
			return len(list) > 0
		})
		first := list[0]
		list = list[1:]
		return first.Exchange, first.client
	}
}

// plain reduces a record to the parts that are equal in every run.
func plain(e accesslog.Exchange) accesslog.Exchange {
	e.Time, e.Connect, e.Total, e.Loop = 0, 0, 0, 0
	return e
}

func TestConnectionsThatEndedLeaveRecords(t *testing.T) {
	a := newAppliance(t, 1)
	next := recorded(t, a)
	silent := make(chan bool)
	backend := serve(t, func(c *net.TCPConn) {
		b := make([]byte, 5)
		if _, err := io.ReadFull(c, b); err == nil && string(b) == "hello" {
			_, _ = c.Write([]byte("good day"))
			_, _ = io.Copy(io.Discard, c)
			return
		}
		<-silent
		_ = c.SetLinger(0)
	})
	defer close(silent)
	f := a.farm(refusedAddr(t), backend.at())
	f.L4.Logs, f.L4.Persist = true, farm.L4PersistSrc
	a.publish(f)

	before := time.Now().UnixNano()
	c := a.dial(f)
	_, _ = c.Write([]byte("hello"))
	answer := make([]byte, 8)
	if _, err := io.ReadFull(c, answer); err != nil {
		t.Fatal(err)
	}
	_ = c.CloseWrite()
	_, _ = io.Copy(io.Discard, c)
	got, client := next()
	want := accesslog.Exchange{Farm: 1, Backend: 2, BytesIn: 5, BytesOut: 8, Proto: accesslog.ProtoTCP, Flags: accesslog.Logged | accesslog.Retried, Tries: 2, Why: accesslog.WhyAlgorithm}
	if plain(got) != want {
		t.Errorf("the record is\n%+v, want\n%+v", got, want)
	}
	if got.Time < before-int64(time.Second) || got.Connect <= 0 || got.Total < got.Connect || client.String() != c.LocalAddr().String() {
		t.Errorf("client %s, %+v", client, got)
	}

	c = a.dial(f)
	_, _ = c.Write([]byte("xxxxx"))
	eventually(t, "five bytes more went through", func() bool { return a.stats().BytesIn == 10 })
	_ = c.SetLinger(0)
	_ = c.Close()
	got, _ = next()
	want = accesslog.Exchange{Farm: 1, Backend: 2, BytesIn: 5, Proto: accesslog.ProtoTCP,
		Flags: accesslog.Logged | accesslog.Session | accesslog.AbortedByClient, Tries: 1, Why: accesslog.WhySession}
	if plain(got) != want {
		t.Errorf("the record of a reset connection is\n%+v, want\n%+v", got, want)
	}

	f.L4.Backends = f.L4.Backends[:1]
	a.publish(f)
	a.health.SetGuardian(1, health.Down, time.Now())       // otherwise the client tries it
	if c, err := net.Dial("tcp", address(f)); err == nil { // the reset may be faster
		_ = c.Close()
	}
	got, _ = next()
	if class := a.segment.Classes()[got.Rejection-1]; class != "no-backend" || got.Tries != 0 || !got.Flags.Has(accesslog.AbortedHere) {
		t.Errorf("the record of one without a backend is %+v of class %s", got, class)
	}
}

func TestOnlyWantedConnectionsAreRecorded(t *testing.T) {
	a := newAppliance(t, 1)
	next := recorded(t, a)
	backend := serve(t, echo)
	quiet, loud := a.farm(backend.at()), a.farm(backend.at())
	loud.ID, loud.L4.ID, loud.Name, loud.L4.Logs = 2, 2, "loud", true
	loud.L4.Backends = slices.Clone(loud.L4.Backends)
	loud.L4.Backends[0].ID = 2
	a.publish(quiet, loud)
	for _, f := range []farm.Farm{quiet, loud} {
		c := a.dial(f)
		_ = c.CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	}
	if got, _ := next(); got.Farm != 2 || got.Flags.Has(accesslog.Watched) {
		t.Errorf("a record of farm %d: %+v", got.Farm, got)
	}
	a.records.Watch(1, true)
	c := a.dial(quiet)
	_ = c.CloseWrite()
	_, _ = io.Copy(io.Discard, c)
	if got, _ := next(); got.Farm != 1 || !got.Flags.Has(accesslog.Watched) || got.Flags.Has(accesslog.Logged) {
		t.Errorf("a record of a farm that is watched: %+v", got)
	}
}
