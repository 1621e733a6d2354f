package table

import (
	"bytes"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
)

// Challenges are the answers to certification authorities (RFC 8555 section
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
