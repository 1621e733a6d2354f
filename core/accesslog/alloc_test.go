//go:build !race

package accesslog_test

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/accesslog"
)

var (
	path    = []byte("/shop/articles/4711?color=red&size=XL")
	host    = []byte("www.example.org")
	agent   = []byte("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36")
	get     = []byte("GET")
	someone = netip.MustParseAddrPort("198.51.100.7:40000")
)

// usual returns a typical record.
func usual(e *accesslog.Entry, ids *accesslog.IDs, id []byte) []byte {
	e.Begin()
	e.Flags, e.Status, e.Farm = accesslog.Logged, 200, 1
	e.Client(someone)
	e.Method(get)
	e.Host(host)
	e.Path(path)
	id = ids.Append(id[:0])
	e.RequestID(id)
	e.Agent(agent)
	e.Header("X-One", get)
	return id
}

func TestRecordsAllocateNothing(t *testing.T) {
	s := segment(t)
	w, r, ids := s.Writer(0, new(bell)), s.Reader(), accesslog.NewIDs()
	var e accesslog.Entry
	id := usual(&e, ids, nil)
	read := 0
	use := func(rec *accesslog.Record) { read += len(rec.Path) }
	if n := testing.AllocsPerRun(10_000, func() {
		id = usual(&e, ids, id)
		w.Put(&e)
		s.Watched(7)
	}); n != 0 {
		t.Errorf("%v allocations on the loop", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		w.Put(&e)
		r.Arm()
		r.Drain(use)
	}); n != 0 {
		t.Errorf("%v allocations in the reader", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	s := segment(b)
	w, r, ids := s.Writer(0, new(bell)), s.Reader(), accesslog.NewIDs()
	var e accesslog.Entry
	var id []byte
	use := func(*accesslog.Record) {}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		id = usual(&e, ids, id)
		w.Put(&e)
		if i%512 == 511 {
			r.Drain(use)
		}
	}
}

func BenchmarkID(b *testing.B) {
	ids := accesslog.NewIDs()
	var id []byte
	for b.Loop() {
		id = ids.Append(id[:0])
	}
}
