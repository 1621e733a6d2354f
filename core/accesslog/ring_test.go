package accesslog_test

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/accesslog"
)

func TestEveryFieldOfARecordArrives(t *testing.T) {
	s := segment(t)
	w := s.Writer(3, new(bell))
	client := netip.MustParseAddrPort("[2001:db8::7]:40001")
	var e accesslog.Entry
	e.Begin()
	e.Exchange = accesslog.Exchange{
		Time: 1, Queue: 2, Connect: 3, Response: 4, FirstByte: 5, Total: 6, BytesIn: 7, BytesOut: 8, Farm: 9, Service: 10, Backend: 11,
		Flags: accesslog.Logged | accesslog.Reused, Status: 200, TLSVersion: 0x304, Cipher: 0x1301, Rejection: 12,
		Proto: accesslog.ProtoHTTP2, Tries: 13, Loop: 14,
	}
	want := e.Exchange
	e.Client(client)
	e.Method([]byte("GET"))
	e.Host([]byte("www.example.org:8080"))
	e.Path([]byte("/a?b=c"))
	e.RequestID([]byte("0123"))
	e.Agent([]byte("curl"))
	e.Referer([]byte("http://x/"))
	e.Header("X-One", []byte("1"))
	e.Header("x-two", nil)
	if !w.Put(&e) {
		t.Fatal("there was no room in an empty ring")
	}
	n := s.Reader().Drain(func(r *accesslog.Record) {
		if r.Exchange != want || r.Client != client {
			t.Errorf("got %+v from %v", r.Exchange, r.Client)
		}
		for i, text := range []string{string(r.Method), string(r.Host), string(r.Path), string(r.RequestID), string(r.Agent), string(r.Referer)} {
			if want := []string{"GET", "www.example.org:8080", "/a?b=c", "0123", "curl", "http://x/"}[i]; text != want {
				t.Errorf("text %d is %q, want %q", i, text, want)
			}
		}
		var headers []string
		r.Headers(func(name, value []byte) { headers = append(headers, string(name)+"="+string(value)) })
		if got := strings.Join(headers, " "); got != "X-One=1 x-two=" {
			t.Errorf("headers %q, want %q", got, "X-One=1 x-two=")
		}
	})
	if n != 1 {
		t.Errorf("%d records", n)
	}
}

func TestLongTextsAreTruncatedAndMarked(t *testing.T) {
	s := segment(t)
	w := s.Writer(0, new(bell))
	long := bytes.Repeat([]byte("x"), 1<<16)
	var e accesslog.Entry
	e.Begin()
	e.Method(long)
	e.Host(long)
	e.Path(long)
	e.RequestID(long)
	e.Agent(long)
	e.Referer(long)
	for range 20 {
		e.Header(string(long), long)
	}
	if !w.Put(&e) {
		t.Fatal("the longest record does not fit")
	}
	s.Reader().Drain(func(r *accesslog.Record) {
		headers := 0
		r.Headers(func(name, value []byte) {
			headers++
			if len(name) != accesslog.MaxHeaderName || len(value) != accesslog.MaxHeaderValue {
				t.Errorf("a header of %d and %d bytes", len(name), len(value))
			}
		})
		if len(r.Method) != accesslog.MaxMethod || len(r.Host) != accesslog.MaxHost || len(r.Path) != accesslog.MaxPath ||
			len(r.RequestID) != accesslog.MaxRequestID || len(r.Agent) != accesslog.MaxAgent || len(r.Referer) != accesslog.MaxReferer ||
			headers != accesslog.MaxHeaders || !r.Flags.Has(accesslog.Cut) {
			t.Errorf("lengths %d %d %d %d %d %d, %d headers, %v", len(r.Method), len(r.Host), len(r.Path), len(r.RequestID),
				len(r.Agent), len(r.Referer), headers, r.Flags)
		}
	})
}

// fillNumbered makes an entry whose texts allow check to detect truncation.
func fillNumbered(e *accesslog.Entry, n uint64, length int) {
	e.Begin()
	e.BytesIn, e.Flags = n, accesslog.Logged
	e.Method([]byte("GET"))
	e.Path(bytes.Repeat([]byte{byte('a' + n%26)}, length))
	e.BytesOut = uint64(length)
}

// check fails unless the record is a complete one made by numbered.
func check(t interface{ Fatalf(string, ...any) }, r *accesslog.Record) uint64 {
	if string(r.Method) != "GET" || uint64(len(r.Path)) != r.BytesOut || len(bytes.Trim(r.Path, string(rune('a'+r.BytesIn%26)))) != 0 {
		t.Fatalf("record %d is damaged: method %q, %d bytes of path, want %d", r.BytesIn, r.Method, len(r.Path), r.BytesOut)
	}
	return r.BytesIn
}

// Every record is read once, complete and in order, or counted as dropped. This holds
// for all sizes and any interleaving of the two sides.
func TestEachRecordIsReadOnceOrCountedAsDropped(t *testing.T) {
	mem := memory(t)
	rapid.Check(t, func(t *rapid.T) {
		clear(mem[:4096])
		clear(mem[4096 : 4096+2*4096])
		s, err := accesslog.OpenSegment(mem)
		if err != nil {
			t.Fatalf("%v", err)
		}
		w, r := s.Writer(0, new(bell)), s.Reader()
		var e accesslog.Entry
		var next, want uint64
		var dropped []uint64
		read := func(rec *accesslog.Record) {
			for len(dropped) > 0 && dropped[0] == want {
				dropped = dropped[1:]
				want++
			}
			if n := check(t, rec); n != want {
				t.Fatalf("record %d came when %d was due", n, want)
			}
			want++
		}
		for range rapid.IntRange(1, 60).Draw(t, "turns") {
			for range rapid.IntRange(0, 1500).Draw(t, "puts") {
				fillNumbered(&e, next, rapid.SampledFrom([]int{0, 1, 7, 8, 100, 1000, accesslog.MaxPath}).Draw(t, "length"))
				if !w.Put(&e) {
					dropped = append(dropped, next)
				}
				next++
			}
			switch rapid.IntRange(0, 9).Draw(t, "event") {
			case 0: // the engine dies and is replaced
				w = s.Writer(0, new(bell))
			case 1: // mgmt dies and is replaced
				r = s.Reader()
			default:
				for range rapid.IntRange(0, 12).Draw(t, "drains") {
					r.Drain(read)
				}
			}
		}
		for r.Drain(read) > 0 {
		}
		if got := s.Totals(); got.Pushed+got.Dropped != next || want+uint64(len(dropped)) != next {
			t.Fatalf("%+v of %d, %d read", got, next, want)
		}
		if l := r.Lost(); l.Missing+l.Damaged != 0 {
			t.Fatalf("lost %+v", l)
		}
	})
}

func TestDrainReturnsRecordsAnywhereInTheRing(t *testing.T) {
	s := segment(t)
	w, r := s.Writer(0, new(bell)), s.Reader()
	var e accesslog.Entry
	for n := range uint64(3 * accesslog.RingSize / 1000) {
		fillNumbered(&e, n, int(n*31%1500))
		w.Put(&e)
		if got := r.Drain(func(rec *accesslog.Record) { check(t, rec) }); got != 1 {
			t.Fatalf("%d records after one was put, number %d", got, n)
		}
	}
}

func TestFullRingDropsAndCounts(t *testing.T) {
	s := segment(t)
	var b bell
	w := s.Writer(0, &b)
	var e accesslog.Entry
	fillNumbered(&e, 0, 500)
	fit := 0
	for w.Put(&e) {
		fit++
	}
	for range 9 {
		w.Put(&e)
	}
	if got := s.Totals(); got.Dropped != 10 || got.Pushed != uint64(fit) || fit < accesslog.RingSize/1000 {
		t.Errorf("%+v, %d fit", got, fit)
	}
	if b != 0 {
		t.Error("a reader that does not wait was woken")
	}
}

func TestReaderIsWokenOnceByAQuarter(t *testing.T) {
	s := segment(t)
	var b bell
	w := s.Writer(1, &b)
	r := s.Reader()
	if !r.Arm() {
		t.Fatal("an empty segment needs no look")
	}
	var e accesslog.Entry
	fillNumbered(&e, 0, 500)
	put := 0
	for ; b == 0; put++ {
		if !w.Put(&e) {
			t.Fatal("the ring is full, but the reader was not woken")
		}
	}
	if size := put * 500; size < accesslog.RingSize/8 || size > accesslog.RingSize/4 {
		t.Errorf("woken after %d bytes of texts", size)
	}
	for range put {
		w.Put(&e)
	}
	if b != 1 {
		t.Errorf("woken %d times", b)
	}
	if r.Arm() {
		t.Error("a reader may sleep although a ring is more than a quarter full")
	}
	for r.Drain(func(*accesslog.Record) {}) > 0 {
	}
	if !r.Arm() {
		t.Error("a drained segment needs no look")
	}
}

func TestUnacknowledgedRecordsAreCounted(t *testing.T) {
	s := segment(t)
	w := s.Writer(0, new(bell))
	var e accesslog.Entry
	for n := range uint64(5) {
		fillNumbered(&e, n, 10)
		w.Put(&e)
	}
	if n := s.Reader().Drain(func(*accesslog.Record) {}); n != 5 {
		t.Fatalf("%d records", n)
	}
	s.Acknowledge(3)
	r := s.Reader() // the previous one was killed
	if got := r.Lost().Unacknowledged; got != 2 {
		t.Errorf("%d are unacknowledged, want 2", got)
	}
	if got := s.Reader().Lost().Unacknowledged; got != 0 {
		t.Errorf("%d are counted twice", got)
	}
}

func TestNewReaderClearsWatchedFarms(t *testing.T) {
	s := segment(t)
	for _, id := range []uint32{1, 62, 64, 4095} {
		s.Watch(id, true)
		if !s.Watched(id) || s.Watched(id-1) {
			t.Errorf("farm %d: watched %v, its neighbour %v", id, s.Watched(id), s.Watched(id-1))
		}
	}
	s.Watch(64, false)
	if s.Watched(64) || !s.Watched(62) {
		t.Error("the wrong farm is no longer watched")
	}
	s.Reader()
	if s.Watched(62) {
		t.Error("a farm is watched for a reader that is gone")
	}
}
