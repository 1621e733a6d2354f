package compress_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"testing"

	"github.com/sluicelb/sluice/l7/compress"
	"github.com/sluicelb/sluice/l7/compress/compresstest"
)

// each runs a test for every level of every coding.
func each(t *testing.T, test func(t *testing.T, c compress.Coding, l compress.Level)) {
	for _, c := range offered {
		for l, name := range map[compress.Level]string{compress.Fast: "fast", compress.Default: "default", compress.Best: "best"} {
			t.Run(fmt.Sprint(c, " ", name), func(t *testing.T) { test(t, c, l) })
		}
	}
}

func TestOutputRoundTripsInAnyPieces(t *testing.T) {
	each(t, func(t *testing.T, c compress.Coding, l compress.Level) {
		var p compress.Pool
		noise := make([]byte, 100<<10)
		_, _ = rand.Read(noise)
		for i, want := range [][]byte{nil, []byte("x"), compresstest.Text(1000, 1), compresstest.Text(300<<10, 2), noise, bytes.Repeat([]byte("a"), 200<<10)} {
			for range 2 { // a used encoder is as good as a new one
				e := p.Get(c, l)
				out := []byte("head")
				for rest := want; len(rest) > 0; {
					n := min(len(rest), 1+mathrand.IntN(e.Turn()))
					out = write(t, out, rest[:n], e)
					if mathrand.IntN(4) == 0 {
						out = flush(t, out, e)
					}
					rest = rest[n:]
				}
				out = end(t, out, e)
				p.Put(e)
				if got, err := compresstest.Decode(c.String(), bytes.TrimPrefix(out, []byte("head"))); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("body %d: %d of %d bytes are decoded, %v", i, len(got), len(want), err)
				}
			}
		}
	})
}

func TestFlushedOutputIsDecodable(t *testing.T) {
	each(t, func(t *testing.T, c compress.Coding, l compress.Level) {
		var p compress.Pool
		e := p.Get(c, l)
		var out, want []byte
		for i := range 20 {
			part := compresstest.Text(1+i*100, uint64(i))
			want = append(want, part...)
			out = flush(t, write(t, out, part, e), e)
			if again := flush(t, out, e); len(again) != len(out) {
				t.Fatalf("a second flush returned %d bytes", len(again)-len(out))
			}
			r, err := compresstest.Reader(c.String(), bytes.NewReader(out))
			if err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(want))
			for n := 0; n < len(got); {
				m, err := r.Read(got[n:])
				if n += m; err != nil && n < len(got) {
					t.Fatalf("after %d of %d bytes: %v", n, len(want), err)
				}
			}
			if !bytes.Equal(got, want) {
				t.Fatal("other bytes were decoded")
			}
		}
	})
}

// A truncated response must not look complete.
func TestUnclosedBodyIsIncomplete(t *testing.T) {
	each(t, func(t *testing.T, c compress.Coding, l compress.Level) {
		var p compress.Pool
		e := p.Get(c, l)
		out := flush(t, write(t, nil, compresstest.Text(5000, 1), e), e)
		if _, err := compresstest.Decode(c.String(), out); err == nil {
			t.Error("it is read without an error")
		}
		p.Put(e)
		e = p.Get(c, l) // the previous output is gone
		out = end(t, write(t, nil, []byte("new"), e), e)
		if got, err := compresstest.Decode(c.String(), out); err != nil || string(got) != "new" {
			t.Errorf("%q %v", got, err)
		}
	})
}

func TestAPoolGivesNoMoreThanItsMemory(t *testing.T) {
	var p compress.Pool
	var given []*compress.Encoder
	for e := p.Get(compress.Brotli, compress.Best); e != nil; e = p.Get(compress.Brotli, compress.Best) {
		given = append(given, e)
	}
	if p.Memory() > 64<<20 || len(given) != 19 {
		t.Errorf("%d encoders of together %d bytes", len(given), p.Memory())
	}
	p.Put(given[0])
	if p.Get(compress.Brotli, compress.Best) == nil {
		t.Error("a returned encoder is not reused")
	}
	for _, e := range given {
		p.Put(e)
	}
	if kept := p.Memory(); kept > compress.MaxMemory/4 {
		t.Errorf("%d bytes are kept", kept)
	}
	var exact compress.Pool
	for range 64 {
		if exact.Get(compress.Gzip, compress.Best) == nil { // 1 MiB each
			t.Fatalf("none is given at %d bytes", exact.Memory())
		}
	}
	if exact.Get(compress.Gzip, compress.Best) != nil {
		t.Errorf("one is given at %d bytes", exact.Memory())
	}
	n := 0
	for e := p.Get(compress.Gzip, compress.Fast); e != nil; e = p.Get(compress.Gzip, compress.Fast) {
		n++
	}
	if n < 70 {
		t.Errorf("kept encoders of another kind left room for %d", n)
	}
}

func write(t *testing.T, dst, p []byte, e *compress.Encoder) []byte {
	out, err := e.Write(dst, p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func flush(t *testing.T, dst []byte, e *compress.Encoder) []byte {
	out, err := e.Flush(dst)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func end(t *testing.T, dst []byte, e *compress.Encoder) []byte {
	out, err := e.Close(dst)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
