package compress_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/compress"
	"github.com/sluicelb/sluice/l7/compress/compresstest"
)

func TestEncodersReportCodingAndPendingInput(t *testing.T) {
	for name, want := range map[string]compress.Coding{"gzip": compress.Gzip, "zstd": compress.Zstd, "br": compress.Brotli, "": compress.None, "deflate": compress.None, "GZIP": compress.None} {
		if got := compress.Named(name); got != want {
			t.Errorf("%q is named %v, want %v", name, got, want)
		}
	}
	each(t, func(t *testing.T, c compress.Coding, l compress.Level) {
		var p compress.Pool
		e := p.Get(c, l)
		if e.Coding() != c || compress.Named(c.String()) != c || e.Holds() {
			t.Errorf("the encoder of %v is of %v and holds something: %t", c, e.Coding(), e.Holds())
		}
		if out := write(t, []byte("x"), nil, e); string(out) != "x" || e.Holds() {
			t.Errorf("the output is %q, held: %t", out, e.Holds())
		}
		out := write(t, nil, []byte("something"), e)
		if !e.Holds() {
			t.Error("the output is not held")
		}
		if flush(t, out, e); e.Holds() {
			t.Error("it holds something when all is flushed")
		}
		write(t, nil, []byte("more"), e)
		p.Put(e)
		if e = p.Get(c, l); e.Holds() {
			t.Error("a body holds something of the one before")
		}
	})
}

// Higher levels take more time and memory and produce smaller output.
func TestLevelsTradeSpeedForSize(t *testing.T) {
	text := compresstest.Text(300<<10, 3)
	var got []string
	for _, c := range offered {
		size := len(text)
		line := c.String()
		for _, l := range []compress.Level{compress.Fast, compress.Default, compress.Best} {
			var p compress.Pool
			e := p.Get(c, l)
			out := end(t, write(t, nil, text, e), e)
			if len(out) >= size {
				t.Errorf("%v: level %v gives %d bytes, the one before %d", c, l, len(out), size)
			}
			size = len(out)
			line += fmt.Sprintf(" %d/%d", p.Memory()>>10, e.Turn()>>10)
		}
		got = append(got, line)
	}
	want := "br 448/64 1536/32 3328/16, zstd 768/64 1152/64 2816/32, gzip 832/64 960/64 1024/32"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("KiB of memory and of a turn, from fast to best:\n%s\nwant\n%s", text, want)
	}
}

func TestPoolKeepsFourEncodersOfAKind(t *testing.T) {
	var p compress.Pool
	var given []*compress.Encoder
	for range 6 {
		given = append(given, p.Get(compress.Gzip, compress.Fast))
	}
	one := p.Memory() / 6
	for _, e := range given {
		p.Put(e)
	}
	if p.Memory() != 4*one {
		t.Errorf("%d bytes are kept, want %d", p.Memory(), 4*one)
	}
	p.Put(p.Get(compress.Gzip, compress.Best)) // another kind
	again := map[*compress.Encoder]bool{}
	for range 4 {
		again[p.Get(compress.Gzip, compress.Fast)] = true
	}
	for _, e := range given[:4] {
		if !again[e] {
			t.Error("a kept encoder is not given again")
		}
	}
	for n := compress.MaxMemory/one + 1; n > 0; n-- { // idle ones make room, one after the other
		before := p.Memory()
		if e := p.Get(compress.Gzip, compress.Fast); e == nil {
			if before+one <= compress.MaxMemory || before > compress.MaxMemory {
				t.Errorf("none is given at %d bytes", before)
			}
			return
		}
	}
	t.Error("the pool has no bound")
}
