//go:build !race

package accesslog

import (
	"testing"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
)

func TestLinesAllocateNothing(t *testing.T) {
	for _, format := range farm.LogFormats() {
		each(t, &farm.AccessLog{Format: format}, func(f *formatter, l *line) {
			buffer := make([]byte, 0, 8192)
			if n := testing.AllocsPerRun(1000, func() { buffer = f.append(buffer[:0], l) }); n != 0 {
				t.Errorf("%s: %v allocations", format, n)
			}
		})
	}
}

// each calls use with the typical record and the formatter of a log.
func each(t testing.TB, log *farm.AccessLog, use func(f *formatter, l *line)) {
	t.Helper()
	cfg := config(nil)
	cfg.Farms[0].HTTP.AccessLog = *log
	roundTrip(nil, func(r *accesslog.Record) {
		b := newBook(cfg, nil, newClock(), func(*farm.Farm) *sink { return nil })
		var l line
		b.lookUp(&l, r)
		use(b.farms[1].format, &l)
	})
}

func BenchmarkLine(b *testing.B) {
	for _, format := range farm.LogFormats() {
		b.Run(string(format), func(b *testing.B) {
			each(b, &farm.AccessLog{Format: format}, func(f *formatter, l *line) {
				buffer := make([]byte, 0, 8192)
				b.ReportAllocs()
				for b.Loop() {
					buffer = f.append(buffer[:0], l)
				}
				b.SetBytes(int64(len(buffer)))
			})
		})
	}
}
