package http2_test

import (
	"math"
	"testing"

	"github.com/sluicelb/sluice/l7/http2"
)

// BenchmarkFloods measures 64 KiB of frames without useful work, without rate limits. For
// comparison: the kernel alone needs about 20 µs to send them.
func BenchmarkFloods(b *testing.B) {
	for _, name := range []string{"ping", "settings", "priority", "updates of a stream's window", "unknown frames", "empty data", "data of one byte", "data of one byte, two streams"} {
		b.Run(name, func(b *testing.B) {
			s := newSession(b, func(l *http2.Limits) { l.Noise.Burst, l.Control = math.MaxInt32, math.MaxInt32 })
			q := &discard{}
			s.conn = http2.NewServer(s.sh, q)
			f := floods[name]
			switch name {
			case "data of one byte":
				f.prepare = func(s *session) { s.post(1) }
				f.send = func(s *session, i int) { _ = s.WriteData(1, false, zeros(1)) }
			case "data of one byte, two streams":
				f.prepare = func(s *session) { s.post(1).headers(3, false, s.get()) }
				f.send = func(s *session, i int) { _ = s.WriteData(uint32(1+i%2*2), false, zeros(1)) }
			}
			if f.prepare != nil {
				f.prepare(s)
			}
			if err := s.conn.Receive(s.take()); err != nil {
				b.Fatal(err)
			}
			frames := 0
			for ; s.Len() < 64<<10-100; frames++ {
				f.send(s, frames)
			}
			read := s.take()
			p := make([]byte, len(read))
			b.SetBytes(int64(len(read)))
			b.ReportAllocs()
			for b.Loop() {
				copy(p, read)
				if err := s.conn.Receive(p); err != nil {
					b.Fatal(err)
				}
				s.conn.Written()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*frames), "ns/frame")
		})
	}
}

type discard struct{ quick }

func (d *discard) Head(*http2.Stream, []byte, bool)              {}
func (d *discard) Data(s *http2.Stream, p []byte, _ bool)        { s.Consumed(len(p)) }
func (d *discard) Reset(*http2.Stream, http2.Code, *http2.Error) {}

// BenchmarkAttacks measures an attack from its first byte to GOAWAY, including set-up and
// end of the connection.
func BenchmarkAttacks(b *testing.B) {
	for _, name := range []string{"rapid reset", "made you reset by malformed requests", "continuations", "ping", "settings"} {
		b.Run(name, func(b *testing.B) {
			s := newSession(b, nil)
			f := floods[name]
			if f.prepare != nil {
				f.prepare(s)
			}
			for i := range 1500 {
				f.send(s, i)
			}
			read := s.take()
			p := make([]byte, len(read))
			q := &discard{}
			used := 0
			for b.Loop() {
				c := http2.NewServer(s.sh, q)
				copy(p, read)
				for used = 0; used < len(p); used += 1000 {
					if c.Receive(p[used:min(len(p), used+1000)]) != nil {
						break
					}
					c.Written()
				}
				if c.Err() != f.why {
					b.Fatal(c.Err())
				}
				c.Close()
			}
			b.ReportMetric(float64(used), "bytes/op")
		})
	}
}

// BenchmarkBulk sends a body of 1 MiB in each direction.
func BenchmarkBulk(b *testing.B) {
	b.Run("down", func(b *testing.B) {
		s := newSession(b, nil)
		s.bulk(math.MaxInt)
		_ = s.WriteSettings()
		s.headers(1, true, s.get())
		if err := s.conn.Receive(s.take()); err != nil {
			b.Fatal(err)
		}
		_ = s.WriteWindowUpdate(0, 1<<20)
		_ = s.WriteWindowUpdate(1, 1<<20)
		updates := s.take()
		p := make([]byte, len(updates))
		b.SetBytes(1 << 20)
		b.ReportAllocs()
		for b.Loop() {
			if err := s.conn.Receive(p[:copy(p, updates)]); err != nil {
				b.Fatal(err)
			}
			for len(s.conn.Output()) > 0 {
				s.conn.Written()
				s.conn.Resume()
			}
		}
	})
	b.Run("up", func(b *testing.B) {
		s := newSession(b, nil)
		s.conn = http2.NewServer(s.sh, &discard{})
		s.post(1)
		if err := s.conn.Receive(s.take()); err != nil {
			b.Fatal(err)
		}
		for range 4 {
			_ = s.WriteData(1, false, zeros(16000))
		}
		read := s.take()
		p := make([]byte, len(read))
		b.SetBytes(64000)
		b.ReportAllocs()
		for b.Loop() {
			copy(p, read)
			if err := s.conn.Receive(p[:32<<10]); err != nil {
				b.Fatal(err)
			}
			if err := s.conn.Receive(p[32<<10:]); err != nil {
				b.Fatal(err)
			}
			s.conn.Written()
		}
	})
}
