package proxy

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/revive"
)

// A backend that can be connected to, but fails one exchange after the other, is
// ejected for a while. That is no finding about its health: core/revive, which
// only connects, knows nothing of it.

// outlier is when a service ejects a backend.
type outlier struct {
	errors  int // in a row
	time    time.Duration
	percent int
}

func newOutlier(s *farm.Service) *outlier {
	if s.OutlierErrors == 0 {
		return nil
	}
	return &outlier{
		errors: int(s.OutlierErrors), time: time.Duration(nanos(cmp.Or(s.OutlierTime, farm.DefaultOutlierTime))),
		percent: int(cmp.Or(s.OutlierPercent, farm.DefaultOutlierPercent)),
	}
}

// judge counts the answer at hand for or against its backend.
func (ex *exchange) judge() {
	if ex.w.resp.Status >= 500 {
		ex.erred(health.CauseStatus)
		return
	}
	ex.w.engine.board.Slot(ex.backend.id).Worked()
}

// erred counts a failure of the chosen backend.
func (ex *exchange) erred(c health.Cause) {
	o, slot := ex.service.outlier, ex.w.engine.board.Slot(ex.backend.id)
	if o == nil || slot.Failed() < o.errors || slot.Ejected() {
		return
	}
	if ex.w.engine.ejections.add(ex.service, ex.backend, c) {
		ex.backendStats().Ejections++
	}
}

// ejections are the backends that are ejected now.
type ejections struct {
	engine *Engine
	mu     sync.Mutex
	all    map[uint32]ejected
}

// ejected is one of them.
type ejected struct {
	service uint32
	backend revive.Backend // as it was then
	until   time.Time
}

func newEjections(e *Engine) *ejections {
	return &ejections{engine: e, all: map[uint32]ejected{}}
}

// add takes a backend out, if that leaves enough of them. It reports whether it
// did. Any loop may call it; it is not part of the hot path.
func (j *ejections) add(s *service, b *backend, c health.Cause) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.engine
	t, slot := e.table.Load(), e.board.Slot(b.id)
	if now := t.backends[b.id]; now == nil || now.origin != b.origin || slot.Ejected() {
		return false
	}
	sv := t.service(s.id)
	if sv == nil || sv.outlier == nil {
		return false
	}
	total, out, others := 0, 0, 0
	for i := range sv.backends {
		other := &sv.backends[i]
		if other.mode != modeInUse {
			continue
		}
		total++
		switch slot := e.board.Slot(other.id); {
		case slot.Ejected():
			out++
		case other.id != b.id && slot.Usable():
			others++
		}
	}
	if !health.MayEject(total, out, others, sv.outlier.percent) {
		slot.Worked() // the next row may find more of the others usable
		return false
	}
	ejection := e.board.Eject(b.id, c, time.Now(), sv.outlier.time)
	j.all[b.id] = ejected{s.id, b.reach, ejection.Until}
	e.log.Warn("backend is ejected", b.reach.Attrs(
		"cause", fmt.Sprintf("%d failures in a row, the last one: %s", sv.outlier.errors, c),
		"for", ejection.Until.Sub(ejection.Since).String(),
	)...)
	return true
}

// inherit takes over what an earlier engine ejected.
func (j *ejections) inherit(t *table) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, f := range t.byID {
		for i := range f.services {
			s := &f.services[i]
			for k := range s.backends {
				b := &s.backends[k]
				if e, is := j.engine.board.Slot(b.id).Ejection(); is && j.all[b.id].service == 0 {
					j.all[b.id] = ejected{s.id, b.reach, e.Until}
				}
			}
		}
	}
}

// readmit lets those back in whose time is over, that moved, whose service
// ejects none any more, or without whom it would have none.
func (j *ejections) readmit(now time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.all) == 0 {
		return
	}
	t := j.engine.table.Load()
	for id, e := range j.all {
		why := "its time is over"
		switch b, sv := t.backends[id], t.service(e.service); {
		case b == nil || sv == nil || sv.outlier == nil || b.reach.Addr != e.backend.Addr:
			why = "the configuration has changed"
		case now.Before(e.until) && j.anyUsable(sv):
			continue
		case now.Before(e.until):
			why = "no other is left"
		}
		delete(j.all, id)
		if j.engine.board.Readmit(id, now) {
			j.engine.log.Info("backend is no longer ejected", e.backend.Attrs("cause", why)...)
		}
	}
}

func (j *ejections) anyUsable(s *service) bool {
	for i := range s.backends {
		if b := &s.backends[i]; b.mode == modeInUse && j.engine.board.Slot(b.id).Usable() {
			return true
		}
	}
	return false
}
