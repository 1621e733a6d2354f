package accesslog

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"sync"
)

// mostDistinct is the maximum number of names, and of clients, that a tally distinguishes.
// Further ones are counted only in the total.
const mostDistinct = 100_000

// Tally counts the queries of one farm while it is open: by name and type, by client, by
// response code and by service. It counts all of them, including those that a Watcher would
// miss.
type Tally struct {
	watcher *Watcher

	mu               sync.Mutex
	questions        uint64
	names            map[Question]uint64
	clients          map[netip.Addr]uint64
	rcodes, services map[string]uint64
}

// Question is the name and type of a query.
type Question struct{ Name, Type string }

// Counted is a key of a tally with its count.
type Counted[K any] struct {
	Key   K
	Times uint64
}

// Tally counts queries of a farm until Close. Any goroutine. Errors: ErrWatchers.
func (p *Pump) Tally(farm uint32) (*Tally, error) {
	t := &Tally{names: map[Question]uint64{}, clients: map[netip.Addr]uint64{}, rcodes: map[string]uint64{}, services: map[string]uint64{}}
	w, err := p.hub.enter(&Watcher{hub: &p.hub, farm: farm, tally: t})
	t.watcher = w
	return t, err
}

// Close ends the counting. It may be called again.
func (t *Tally) Close() { t.watcher.Close() }

// add counts one record. It ignores records that are no queries.
func (t *Tally) add(l *line) {
	if !l.Proto.IsDNS() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.questions++
	count(t.names, Question{string(l.name()), string(l.kind())})
	count(t.clients, l.Client.Addr())
	count(t.rcodes, string(l.rcode()))
	if len(l.service) > 0 {
		count(t.services, string(l.service))
	}
}

func count[K comparable](m map[K]uint64, k K) {
	if _, known := m[k]; known || len(m) < mostDistinct {
		m[k]++
	}
}

// Sum is the result of a tally: the number of queries, and the most frequent keys of each
// kind.
type Sum struct {
	Questions        uint64
	Names            []Counted[Question]
	Clients          []Counted[netip.Addr]
	Rcodes, Services []Counted[string]
}

// Sum returns the counts so far, at most that many of each kind.
func (t *Tally) Sum(most int) Sum {
	t.mu.Lock()
	defer t.mu.Unlock()
	byText := func(a, b string) int { return cmp.Compare(a, b) }
	return Sum{t.questions,
		first(t.names, most, func(a, b Question) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type)) }),
		first(t.clients, most, netip.Addr.Compare), first(t.rcodes, most, byText), first(t.services, most, byText)}
}

// first returns the most frequent keys. Equally frequent ones are in the order of order.
func first[K comparable](m map[K]uint64, most int, order func(a, b K) int) []Counted[K] {
	keys := slices.SortedFunc(maps.Keys(m), func(a, b K) int { return cmp.Or(cmp.Compare(m[b], m[a]), order(a, b)) })
	out := make([]Counted[K], 0, min(most, len(keys)))
	for _, k := range keys[:min(most, len(keys))] {
		out = append(out, Counted[K]{k, m[k]})
	}
	return out
}
