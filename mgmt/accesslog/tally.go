package accesslog

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"sync"
)

// mostDistinct bounds the names, and the clients, a tally tells apart; what comes when
// there are as many already is counted in the total alone.
const mostDistinct = 100_000

// Tally counts the questions of one farm while it is open: by name and type, by client,
// by response code and by service. It sees each, also those a Watcher would miss.
type Tally struct {
	watcher *Watcher

	mu               sync.Mutex
	questions        uint64
	names            map[Question]uint64
	clients          map[netip.Addr]uint64
	rcodes, services map[string]uint64
}

// Question is what was asked for.
type Question struct{ Name, Type string }

// Counted is something of a tally, and how often it came.
type Counted[K any] struct {
	Key   K
	Times uint64
}

// Tally counts questions of a farm until Close. Any goroutine. Errors: ErrWatchers.
func (p *Pump) Tally(farm uint32) (*Tally, error) {
	t := &Tally{names: map[Question]uint64{}, clients: map[netip.Addr]uint64{}, rcodes: map[string]uint64{}, services: map[string]uint64{}}
	w, err := p.hub.enter(&Watcher{hub: &p.hub, farm: farm, tally: t})
	t.watcher = w
	return t, err
}

// Close ends the counting. It may be called again.
func (t *Tally) Close() { t.watcher.Close() }

// add counts one record; those that are no questions are not looked at.
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

// Sum is what a tally came to: how many questions, and of each kind the most frequent.
type Sum struct {
	Questions        uint64
	Names            []Counted[Question]
	Clients          []Counted[netip.Addr]
	Rcodes, Services []Counted[string]
}

// Sum returns what was counted until now, at most that many of each kind.
func (t *Tally) Sum(most int) Sum {
	t.mu.Lock()
	defer t.mu.Unlock()
	byText := func(a, b string) int { return cmp.Compare(a, b) }
	return Sum{t.questions,
		first(t.names, most, func(a, b Question) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type)) }),
		first(t.clients, most, netip.Addr.Compare), first(t.rcodes, most, byText), first(t.services, most, byText)}
}

// first are the most frequent, and of those that are as frequent the first in order.
func first[K comparable](m map[K]uint64, most int, order func(a, b K) int) []Counted[K] {
	keys := slices.SortedFunc(maps.Keys(m), func(a, b K) int { return cmp.Or(cmp.Compare(m[b], m[a]), order(a, b)) })
	out := make([]Counted[K], 0, min(most, len(keys)))
	for _, k := range keys[:min(most, len(keys))] {
		out = append(out, Counted[K]{k, m[k]})
	}
	return out
}
