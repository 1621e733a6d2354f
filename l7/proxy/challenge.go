package proxy

import (
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/table"
)

// answerChallenge answers a request that asks returned true for.
func (w *worker) answerChallenge(cl client.Client, f *table.Farm, rest []byte) int {
	close, used := w.bodyless(rest)
	text := f.Challenges[string(w.req.Path)]
	cl.From().Stats().Responses[1]++
	out := table.AppendStatus(w.loop.Scratch[:0], 200)
	out = append(out, "Content-Type: application/octet-stream\r\nCache-Control: no-store\r\n"...)
	out = table.AppendFraming(out, len(text), close)
	if w.req.Verb != http1.VerbHEAD {
		out = append(out, text...)
	}
	w.recordOwn(cl, f, nil, 0, 200, len(out))
	w.send(cl, out, close)
	return used
}
