package accesslog

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
)

const (
	// MaxWatchers is the maximum number of concurrent watchers of all farms.
	MaxWatchers = 48
	// watchRate is the maximum number of lines per second for a watcher. watchQueue is the
	// maximum number of lines that wait for it.
	watchRate  = 500
	watchQueue = 512
)

// ErrWatchers occurs when there are already MaxWatchers.
var ErrWatchers = errors.New("too many are watching already")

// Watcher gets the exchanges of one farm as they end. Lines has each exchange as a JSON
// object with all fields, secrets masked. It is closed when the pump ends.
type Watcher struct {
	Lines  <-chan []byte
	lines  chan []byte
	hub    *hub
	farm   uint32
	filter Filter
	missed atomic.Uint64
	tokens float64
	last   time.Time
	tally  *Tally // nil: it gets lines
}

// Missed returns the number of exchanges not shown since the last call, because there were
// too many or they were not read in time.
func (w *Watcher) Missed() uint64 { return w.missed.Swap(0) }

// Close stops watching. It may be called again.
func (w *Watcher) Close() { w.hub.leave(w) }

// Watch returns a Watcher for the exchanges of a farm that match the filter, until Close.
// Any goroutine. Errors: ErrWatchers.
func (p *Pump) Watch(farm uint32, filter Filter) (*Watcher, error) { return p.hub.join(farm, filter) }

// watchFormat returns a formatter that shows every field, and masks everything that any
// farm masks.
func watchFormat(cfg *farm.Config, c *clock) *formatter {
	names := farm.DefaultRedact()
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if l, _ := f.Log(); l != nil {
			names = append(append(names, l.Redact...), f.KeyHeaders()...)
		}
	}
	return newFormatter(&farm.AccessLog{Fields: farm.EveryLogField(), Headers: []string{"whatever"}, Redact: names}, c)
}

// hub holds the watchers. They are added and removed by any goroutine; lines are added by
// the pump's.
type hub struct {
	segment *accesslog.Segment
	now     atomic.Int64 // number of watchers
	format  *formatter

	mu       sync.Mutex
	watchers map[uint32][]*Watcher
	recent   recent
	ended    bool
}

func (h *hub) busy() bool { return h.now.Load() > 0 }

func (h *hub) join(farm uint32, filter Filter) (*Watcher, error) {
	lines := make(chan []byte, watchQueue)
	return h.enter(&Watcher{Lines: lines, lines: lines, hub: h, farm: farm, filter: filter, tokens: watchRate, last: time.Now()})
}

// enter adds a watcher, which gets the exchanges of its farm from now on.
func (h *hub) enter(w *Watcher) (*Watcher, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended || h.now.Load() >= MaxWatchers {
		return nil, ErrWatchers
	}
	if h.watchers == nil {
		h.watchers = map[uint32][]*Watcher{}
	}
	h.watchers[w.farm] = append(h.watchers[w.farm], w)
	h.now.Add(1)
	h.segment.Watch(w.farm, true)
	return w, nil
}

func (h *hub) leave(w *Watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.watchers[w.farm]
	for i := range list {
		if list[i] == w {
			h.now.Add(-1)
			if list = append(list[:i:i], list[i+1:]...); len(list) == 0 {
				delete(h.watchers, w.farm)
				h.segment.Watch(w.farm, false)
			} else {
				h.watchers[w.farm] = list
			}
			return
		}
	}
}

// wants reports whether the farm of the record has a watcher.
func (h *hub) wants(r *accesslog.Record) bool {
	if h.now.Load() == 0 {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.watchers[r.Farm]) > 0
}

// show gives a line to the watchers of the farm whose filter it matches. It never waits.
func (h *hub) show(l *line) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var text []byte
	for _, w := range h.watchers[l.Farm] {
		if w.tally != nil {
			w.tally.add(l)
			continue
		}
		if !w.filter.passes(l) {
			continue
		}
		if !w.allowed() {
			w.missed.Add(1)
			continue
		}
		if text == nil {
			text = h.format.appendObject(nil, l)
			h.recent.keep(text)
		}
		select {
		case w.lines <- text:
		default:
			w.missed.Add(1)
		}
	}
}

// allowed takes one of the watcher's lines of this second.
func (w *Watcher) allowed() bool {
	if w.tokens < 1 {
		now := time.Now()
		w.tokens = min(watchRate, w.tokens+now.Sub(w.last).Seconds()*watchRate)
		w.last = now
	}
	if w.tokens < 1 {
		return false
	}
	w.tokens--
	return true
}

// close closes all watchers.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	for _, list := range h.watchers {
		for _, w := range list {
			if w.lines != nil {
				close(w.lines)
			}
		}
	}
	h.watchers = nil
}
