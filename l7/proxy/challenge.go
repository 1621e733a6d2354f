package proxy

import (
	"bytes"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
)

// challenges are the answers to certification authorities (RFC 8555 section
// 8.3) by the path they ask for. nil, as it nearly always is, costs a request
// one comparison.
type challenges map[string][]byte

var challengePath = []byte(farm.ChallengePath)

func newChallenges(cfg *farm.Config) challenges {
	if len(cfg.Challenges) == 0 {
		return nil
	}
	out := make(challenges, len(cfg.Challenges))
	for _, c := range cfg.Challenges {
		out[farm.ChallengePath+c.Token] = []byte(c.Answer)
	}
	return out
}

// asks reports whether the request is for one of the tokens: the path whole,
// without a query, whatever the host. Other tokens belong to the services,
// which may have an ACME client of their own behind them.
func (c challenges) asks(r *http1.Request) bool {
	if r.Verb != http1.VerbGET && r.Verb != http1.VerbHEAD || !bytes.HasPrefix(r.Path, challengePath) {
		return false
	}
	_, known := c[string(r.Path)]
	return known
}

// answerChallenge answers a request that asks returned true for.
func (w *worker) answerChallenge(cl *client, f *farmTable, rest []byte) int {
	close, used := w.bodyless(rest)
	text := f.challenges[string(w.req.Path)]
	cl.stats().Responses[1]++
	out := appendStatus(w.loop.Scratch[:0], 200)
	out = append(out, "Content-Type: application/octet-stream\r\nCache-Control: no-store\r\n"...)
	out = appendFraming(out, len(text), close)
	if w.req.Verb != http1.VerbHEAD {
		out = append(out, text...)
	}
	w.recordOwn(cl, f, nil, true, 200, len(out))
	w.send(cl, out, close)
	return used
}
