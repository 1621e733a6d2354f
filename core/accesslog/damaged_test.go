package accesslog_test

import (
	"encoding/binary"
	"testing"

	"github.com/sluicelb/sluice/core/accesslog"
)

// Offsets of the first ring's words and bytes.
const (
	ringHead  = 4096
	ringTail  = ringHead + 64
	ringBytes = ringHead + 4096
)

func word(mem []byte, at int) uint64 { return binary.NativeEndian.Uint64(mem[at:]) }

func setWord(mem []byte, at int, v uint64) { binary.NativeEndian.PutUint64(mem[at:], v) }

// After damage the reader must continue with later records.
func TestReaderSkipsDamagedRecords(t *testing.T) {
	for name, harm := range map[string]func(mem []byte){
		"size 0":                func(mem []byte) { setWord(mem, ringBytes, 0) },
		"size not aligned":      func(mem []byte) { mem[ringBytes] |= 6 },
		"size beyond the head":  func(mem []byte) { binary.NativeEndian.PutUint32(mem[ringBytes:], 8000) },
		"size beyond any":       func(mem []byte) { binary.NativeEndian.PutUint32(mem[ringBytes:], 1<<31) },
		"a filler to nowhere":   func(mem []byte) { binary.NativeEndian.PutUint32(mem[ringBytes:], 1<<20|1) },
		"head beyond the ring":  func(mem []byte) { setWord(mem, ringHead, word(mem, ringHead)+accesslog.RingSize) },
		"head behind the tail":  func(mem []byte) { setWord(mem, ringHead, ^uint64(7)) },
		"head between records":  func(mem []byte) { setWord(mem, ringHead, word(mem, ringHead)-8) },
		"head not aligned":      func(mem []byte) { setWord(mem, ringHead, word(mem, ringHead)+3) },
		"lengths beyond bounds": func(mem []byte) { fill(mem[ringBytes+8:ringBytes+136], 0xff) },
	} {
		t.Run(name, func(t *testing.T) {
			mem := memory(t)
			s := open(t, mem)
			w, r := s.Writer(0, new(bell)), s.Reader()
			var e accesslog.Entry
			for n := range uint64(3) {
				fillNumbered(&e, n, 50)
				w.Put(&e)
			}
			harm(mem)
			for range 5 {
				r.Drain(func(*accesslog.Record) {})
			}
			if r.Lost().Damaged == 0 {
				t.Error("the damage is not counted")
			}
			w = s.Writer(0, new(bell)) // the damaging engine is gone
			for n := uint64(100); n < 200; n++ {
				fillNumbered(&e, n, 50)
				if !w.Put(&e) {
					t.Fatalf("no room for record %d", n)
				}
			}
			want := uint64(100)
			for range 5 {
				r.Drain(func(rec *accesslog.Record) {
					if n := check(t, rec); n >= 100 {
						if n != want {
							t.Errorf("record %d came when %d was due", n, want)
						}
						want++
					}
				})
			}
			if want != 200 {
				t.Errorf("the last record that came is %d of 199", want-1)
			}
		})
	}
}

func fill(b []byte, with byte) {
	for i := range b {
		b[i] = with
	}
}

func TestForeignMemoryIsRefused(t *testing.T) {
	if _, err := accesslog.OpenSegment(make([]byte, 4096)); err == nil {
		t.Error("short memory was accepted")
	}
	mem := memory(t)
	mem[0] = 'x'
	if _, err := accesslog.OpenSegment(mem); err == nil {
		t.Error("foreign memory was accepted")
	}
	clear(mem[:8])
	open(t, mem)
	if magic, layout := word(mem, 0), word(mem, 8); magic != 0x534c554143434c47 || layout != 3 { // constants known to other releases
		t.Errorf("it begins with %#x, %d", magic, layout)
	}
	mem[8]++
	if _, err := accesslog.OpenSegment(mem); err == nil {
		t.Error("another layout was accepted")
	}
}

// FuzzRing fills a ring with arbitrary bytes, as a compromised engine could. The reader
// must stay within the ring, terminate, and only return texts within their limits.
func FuzzRing(f *testing.F) {
	mem := memory(f)
	s := open(f, mem)
	w := s.Writer(0, new(bell))
	var e accesslog.Entry
	for n := range uint64(4) {
		fillNumbered(&e, n, int(n)*20)
		e.Header("X-Name", []byte("value"))
		w.Put(&e)
	}
	good := mem[ringBytes : ringBytes+int(word(mem, ringHead))]
	f.Add(append([]byte{}, good...), uint64(len(good)), uint64(0))
	f.Add(append([]byte{}, good[:200]...), uint64(1<<20), uint64(1<<20-200))
	f.Fuzz(func(t *testing.T, b []byte, head, tail uint64) {
		clear(mem[ringBytes : ringBytes+accesslog.RingSize])
		at := int(tail % accesslog.RingSize)
		copy(mem[ringBytes+at:ringBytes+accesslog.RingSize], b)
		setWord(mem, ringHead, head)
		setWord(mem, ringTail, tail&^7)
		r := s.Reader()
		for range 20 {
			r.Drain(func(rec *accesslog.Record) {
				if len(rec.Method) > accesslog.MaxMethod || len(rec.Host) > accesslog.MaxHost || len(rec.Path) > accesslog.MaxPath ||
					len(rec.RequestID) > accesslog.MaxRequestID || len(rec.Agent) > accesslog.MaxAgent || len(rec.Referer) > accesslog.MaxReferer {
					t.Error("a text is longer than its bound")
				}
				rec.Headers(func(name, value []byte) {
					if len(name) > 255 || len(value) > 1<<16 {
						t.Error("a header is longer than its bound")
					}
				})
				_, _ = rec.Flags.String(), rec.Proto.String()
			})
		}
		if left := word(mem, ringHead) - word(mem, ringTail); left >= 8 && left <= accesslog.RingSize {
			t.Errorf("%d bytes are neither read nor given up", left)
		}
	})
}
