//go:build !race

package compress_test

import (
	"runtime"
	"testing"

	"github.com/sluicelb/sluice/l7/compress"
	"github.com/sluicelb/sluice/l7/compress/compresstest"
)

func TestParsingAcceptEncodingAllocatesNothing(t *testing.T) {
	value := []byte("gzip;q=0.8, deflate, br;q=0.9, zstd, *;q=0.1")
	if n := testing.AllocsPerRun(100, func() {
		var a compress.Accept
		a.Add(value)
		a.Choose(offered)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestEncodersTakeNoMoreThanTheirCost(t *testing.T) {
	data := compresstest.Text(4<<20, 1)
	out := make([]byte, 0, 8<<20)
	each(t, func(t *testing.T, c compress.Coding, l compress.Level) {
		var p compress.Pool
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		e := p.Get(c, l)
		for i := 0; i < len(data); i += e.Turn() {
			out = write(t, out[:0], data[i:i+e.Turn()], e)
		}
		out = flush(t, out[:0], e)
		runtime.ReadMemStats(&after)
		if took, cost := int(after.TotalAlloc-before.TotalAlloc), p.Memory(); took > cost || took < cost/2 {
			t.Errorf("it allocated %d KiB, its declared cost is %d", took>>10, cost>>10)
		}
		runtime.KeepAlive(e)
	})
}

func TestEncodingAllocatesNothing(t *testing.T) {
	body := compresstest.Text(13000, 1)
	each(t, func(t *testing.T, c compress.Coding, l compress.Level) {
		var p compress.Pool
		out := make([]byte, 0, 64<<10)
		body := func() {
			e := p.Get(c, l)
			out = write(t, out[:0], body[:10000], e)
			out = flush(t, out, e)
			out = end(t, write(t, out, body[10000:], e), e)
			p.Put(e)
		}
		for range 20 {
			body()
		}
		most := 0.0
		if c == compress.Zstd {
			most = 1 // the header of a frame, 16 bytes
		}
		if n := testing.AllocsPerRun(100, body); n > most {
			t.Errorf("%v allocations, want %v", n, most)
		}
	})
}
