package compress_test

import (
	"fmt"
	"testing"

	"github.com/sluicelb/sluice/l7/compress"
	"github.com/sluicelb/sluice/l7/compress/compresstest"
)

// BenchmarkTurn writes the maximum of one loop turn.
func BenchmarkTurn(b *testing.B) {
	data := compresstest.Text(4<<20, 1)
	for _, c := range offered {
		for l, name := range map[compress.Level]string{compress.Fast: "fast", compress.Default: "default", compress.Best: "best"} {
			b.Run(fmt.Sprint(c, "/", name), func(b *testing.B) {
				var p compress.Pool
				e := p.Get(c, l)
				b.SetBytes(int64(e.Turn()))
				out := make([]byte, 0, 1<<20)
				at, read, written := 0, 0, 0
				for b.Loop() {
					out, _ = e.Write(out[:0], data[at:at+e.Turn()])
					at = (at + e.Turn()) % len(data)
					read, written = read+e.Turn(), written+len(out)
				}
				b.ReportMetric(float64(written)/float64(read), "out/in")
			})
		}
	}
}
