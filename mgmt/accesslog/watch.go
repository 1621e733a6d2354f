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
	// MaxWatchers bounds who may watch at the same time, over all farms.
	MaxWatchers = 16
	// watchRate bounds the lines a watcher gets in a second, watchQueue those
	// that wait for it.
	watchRate  = 500
	watchQueue = 512
)

// ErrWatchers occurs when MaxWatchers watch already.
var ErrWatchers = errors.New("too many are watching already")

// Watcher sees the exchanges of one farm as they end. Lines gives each as a
// JSON object with everything that is known, secrets masked; it is closed when
// the pump ends.
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

// Missed returns how many exchanges were not shown since it was last asked:
// there were too many of them, or they were not taken in time.
func (w *Watcher) Missed() uint64 { return w.missed.Swap(0) }

// Close ends the watching. It may be called again.
func (w *Watcher) Close() { w.hub.leave(w) }

// Watch lets the caller see the exchanges of a farm that pass the filter until
// Close. Any goroutine. Errors: ErrWatchers.
func (p *Pump) Watch(farm uint32, filter Filter) (*Watcher, error) { return p.hub.join(farm, filter) }

// watchFormat shows everything, and masks what any farm has masked.
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

// hub holds the watchers. They come and go on any goroutine, lines come on the
// pump's.
type hub struct {
	segment *accesslog.Segment
	now     atomic.Int64 // how many watch
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

// enter lets a watcher see what its farm does from now on.
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

// wants reports whether anybody watches the farm of the record.
func (h *hub) wants(r *accesslog.Record) bool {
	if h.now.Load() == 0 {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.watchers[r.Farm]) > 0
}

// show gives a line to the watchers of the farm whose filter it passes. It never
// waits.
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

// close ends all watching.
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
