package proxy

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/revive"
	"github.com/sluicelb/sluice/l7/table"
)

// A backend that accepts connections but fails one exchange after the other, or is worse
// than its neighbours (see windows), is ejected for a while. This does not affect its
// health: core/revive only tests connects.

// checkOutlier counts the current response for or against its backend.
func (w *worker) checkOutlier(sv *table.Service, b *table.Backend) {
	if failed(w.resp.Status) {
		w.countFailure(sv, b, health.CauseStatus)
	} else if sv.Outlier != nil {
		w.engine.Health.Slot(b.ID).Worked()
	}
}

// failed reports whether a status indicates a failed backend. 501 and 505 concern the
// client's request (RFC 9110 §15.6.2, §15.6.6).
func failed(status int) bool {
	return status >= 500 && status != http.StatusNotImplemented && status != http.StatusHTTPVersionNotSupported
}

// countFailure counts a failure of a backend.
func (w *worker) countFailure(sv *table.Service, b *table.Backend, c health.Cause) {
	w.shard.Backend(b.ID).Failures++
	o := sv.Outlier
	if o == nil || o.Errors == 0 {
		return
	}
	if slot := w.engine.Health.Slot(b.ID); slot.Failed() < o.Errors || slot.Ejected() {
		return
	}
	if w.engine.ejections.add(sv, b, c, "") {
		w.shard.Backend(b.ID).Ejections++
	}
}

// ejections holds the ejected backends.
type ejections struct {
	engine *Engine
	mu     sync.Mutex
	all    map[uint32]ejected
}

// ejected is an ejected backend.
type ejected struct {
	service uint32
	backend revive.Backend // at the time of ejection
	until   time.Time
}

func newEjections(e *Engine) *ejections {
	return &ejections{engine: e, all: map[uint32]ejected{}}
}

// add ejects a backend if enough others remain, and reports whether it did. An empty why
// means consecutive failures. It is safe for concurrent use and off the hot path.
func (j *ejections) add(s *table.Service, b *table.Backend, c health.Cause, why string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.engine
	t, slot := e.table.Load(), e.Health.Slot(b.ID)
	if now := t.Backends.Of(b.ID); now == nil || now.Origin != b.Origin || slot.Ejected() {
		return false
	}
	sv := t.Service(s.ID)
	if sv == nil || sv.Outlier == nil {
		return false
	}
	total, out, others := 0, 0, 0
	for i := range sv.Backends {
		other := &sv.Backends[i]
		if other.Mode != farm.MaintenanceOff {
			continue
		}
		total++
		switch slot := e.Health.Slot(other.ID); {
		case slot.Ejected():
			out++
		case other.ID != b.ID && slot.Usable():
			others++
		}
	}
	if !health.MayEject(total, out, others, sv.Outlier.Percent) {
		slot.Worked() // so that more of the others may be usable next time
		return false
	}
	ejection := e.Health.Eject(b.ID, c, time.Now(), sv.Outlier.Time)
	j.all[b.ID] = ejected{s.ID, b.Reach, ejection.Until}
	if why == "" {
		why = fmt.Sprintf("%d failures in a row, the last one: %s", sv.Outlier.Errors, c)
	}
	e.log.Warn("backend is ejected", b.Reach.Attrs(
		"cause", why,
		"for", ejection.Until.Sub(ejection.Since).String(),
	)...)
	return true
}

// inherit takes over the ejections of an earlier engine for new farms.
func (j *ejections) inherit(fresh []*table.Farm) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, f := range fresh {
		for i := range f.Services {
			s := &f.Services[i]
			for k := range s.Backends {
				b := &s.Backends[k]
				if e, is := j.engine.Health.Slot(b.ID).Ejection(); is && j.all[b.ID].service == 0 {
					j.all[b.ID] = ejected{s.ID, b.Reach, e.Until}
				}
			}
		}
	}
}

// readmit readmits backends whose time has passed, that moved, whose service no longer
// ejects, or whose service would otherwise have no backend.
func (j *ejections) readmit(now time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.all) == 0 {
		return
	}
	t := j.engine.table.Load()
	for id, e := range j.all {
		why := "its time is over"
		switch b, sv := t.Backends.Of(id), t.Service(e.service); {
		case b == nil || sv == nil || sv.Outlier == nil || b.Reach.Addr != e.backend.Addr:
			why = "the configuration has changed"
		case now.Before(e.until) && j.anyUsable(sv):
			continue
		case now.Before(e.until):
			why = "no other is left"
		}
		delete(j.all, id)
		if j.engine.Health.Readmit(id, now) {
			j.engine.log.Info("backend is no longer ejected", e.backend.Attrs("cause", why)...)
		}
	}
}

func (j *ejections) anyUsable(s *table.Service) bool {
	for i := range s.Backends {
		if b := &s.Backends[i]; b.Mode == farm.MaintenanceOff && j.engine.Health.Slot(b.ID).Usable() {
			return true
		}
	}
	return false
}
