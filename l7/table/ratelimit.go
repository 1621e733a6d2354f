package table

import (
	"bytes"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/ratelimit"
	"github.com/sluicelb/sluice/l7/state"
)

// rateLimit is how often each client may ask for a service. What was used up
// is in the registry and known to all loops.
type rateLimit struct {
	limit  ratelimit.Limit
	table  *ratelimit.Table
	key    farm.RateKey
	header string // in lower case
}

// newRateLimit compiles a service's limit; nil when it has none.
func (c *Compiler) newRateLimit(s *farm.Service) *rateLimit {
	limit := state.LimitOf(s)
	if limit == (ratelimit.Limit{}) {
		return nil
	}
	return &rateLimit{
		limit: limit, table: c.registry.Rates.Of(state.RateFor(s)),
		key: s.RateLimit.Key, header: strings.ToLower(s.RateLimit.Header),
	}
}

// whose is the key the request at hand counts for. Who leaves the header out
// is counted by address and so gains nothing by it.
func (l *rateLimit) whose(q *Query) ratelimit.Key {
	r := q.Req
	switch l.key {
	case farm.RateKeyPath:
		path, _, _ := bytes.Cut(r.Path, []byte("?"))
		return l.table.Text(path)
	case farm.RateKeyHeader:
		if i := r.Lookup(l.header); i >= 0 && len(r.Value(i)) > 0 {
			return l.table.Text(r.Value(i))
		}
	}
	return l.table.Address(q.Client())
}

// take counts the request at hand, or says after how many nanoseconds it would
// pass. One that is explained is not counted.
func (l *rateLimit) take(q *Query) (wait int64) {
	if q.Trail != nil {
		return l.table.Peek(l.whose(q), q.Now, l.limit)
	}
	return l.table.Take(l.whose(q), q.Now, l.limit)
}
