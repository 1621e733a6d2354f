package table_test

import (
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/sluicelb/sluice/l7/table"
)

// BenchmarkOwnAnswer compares a generated response with the same one made by fasthttp
// (results in ARCHITECTURE.md).
func BenchmarkOwnAnswer(b *testing.B) {
	out := make([]byte, 0, 4096)
	b.Run("sluice", func(b *testing.B) {
		b.ReportAllocs()
		answers := new(table.Answers)
		for b.Loop() {
			out = answers.AppendWith(out[:0], 503, nil, false, false)
		}
	})
	b.Run("fasthttp", func(b *testing.B) {
		b.ReportAllocs()
		var r fasthttp.Response
		for b.Loop() {
			r.Reset()
			r.SetStatusCode(503)
			r.Header.SetContentType("text/plain; charset=utf-8")
			r.Header.SetNoDefaultContentType(true)
			r.SetBodyString("The service is not available. Please try again later.\n")
			r.Header.SetContentLength(len(r.Body()))
			out = append(r.Header.AppendBytes(out[:0]), r.Body()...)
		}
	})
}
