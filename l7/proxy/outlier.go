package proxy

import (
	"cmp"
	"fmt"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

// A backend that can be connected to, but fails one exchange after the other, is
// ejected for a while. That is no finding about its health: the prober, which
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
	if ex.w.engine.eject(ex.farm, ex.service, ex.backend, c) {
		ex.backendStats().Ejections++
	}
}

// ejected is a backend that is, as the prober knows it.
type ejected struct {
	service       uint32
	name          string // of both, for the log
	origin, alias string
	until         time.Time
}

// eject takes a backend out, if that leaves enough of them. It reports whether
// it did. Any loop may call it; it is not part of the hot path.
func (e *Engine) eject(f *farmTable, s *service, b *backend, c health.Cause) bool {
	p := e.prober
	p.mu.Lock()
	defer p.mu.Unlock()
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
	p.ejected[b.id] = ejected{s.id, f.name + "/" + s.name, b.origin, b.alias, ejection.Until}
	e.log.Warn("backend is ejected", append([]any{
		"farm", f.name, "service", s.name, "cause", fmt.Sprintf("%d failures in a row, the last one: %s", sv.outlier.errors, c),
		"for", ejection.Until.Sub(ejection.Since).String(),
	}, naming(b.origin, b.alias)...)...)
	return true
}

// inheritEjected takes over what an earlier engine ejected. p.mu is held.
func (p *prober) inheritEjected(f *farmTable, s *service, b *backend) {
	if e, is := p.engine.board.Slot(b.id).Ejection(); is && p.ejected[b.id].service == 0 {
		p.ejected[b.id] = ejected{s.id, f.name + "/" + s.name, b.origin, b.alias, e.Until}
	}
}

// readmit lets those back in whose time is over, that moved, whose service
// ejects none any more, or without whom it would have none.
func (p *prober) readmit(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ejected) == 0 {
		return
	}
	t := p.engine.table.Load()
	for id, e := range p.ejected {
		why := "its time is over"
		switch b, sv := t.backends[id], t.service(e.service); {
		case b == nil || sv == nil || sv.outlier == nil || b.origin != e.origin:
			why = "the configuration has changed"
		case now.Before(e.until) && p.anyUsable(sv):
			continue
		case now.Before(e.until):
			why = "no other is left"
		}
		delete(p.ejected, id)
		if p.engine.board.Readmit(id, now) {
			p.engine.log.Info("backend is no longer ejected", append([]any{"farm", e.name, "cause", why}, naming(e.origin, e.alias)...)...)
		}
	}
}

func (p *prober) anyUsable(s *service) bool {
	for i := range s.backends {
		if b := &s.backends[i]; b.mode == modeInUse && p.engine.board.Slot(b.id).Usable() {
			return true
		}
	}
	return false
}
