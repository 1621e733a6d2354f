package proxy

import (
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/outlier"
	"github.com/sluicelb/sluice/l7/table"
)

// windows holds the services that compare their backends, by number. Exchanges bear no extra
// cost, because the existing statistics are read twice.
type windows struct {
	engine *Engine
	table  *table.Table // table of the windows
	open   map[uint32]*window
}

// window holds the counts of a service at its beginning.
type window struct {
	began  time.Time
	counts map[uint32]counted // by backend ID
}

// counted holds the counts of one backend.
type counted struct {
	origin string // its address at that time
	outlier.Count
}

// look closes expired windows, ejects outliers, and begins the next windows.
func (ws *windows) look(now time.Time) {
	if t := ws.engine.table.Load(); t != ws.table {
		ws.follow(t, now)
	}
	for id, w := range ws.open {
		sv := ws.table.Service(id)
		if now.Sub(w.began) < sv.Outlier.Window {
			continue
		}
		next := ws.count(sv, now)
		ws.judge(sv, w, next)
		ws.open[id] = next
	}
}

// follow opens windows for new services, and drops the windows of services that were removed
// or no longer compare.
func (ws *windows) follow(t *table.Table, now time.Time) {
	before := ws.open
	ws.table, ws.open = t, map[uint32]*window{}
	for _, f := range t.ByID {
		for i := range f.Services {
			sv := &f.Services[i]
			if sv.Outlier == nil || !sv.Outlier.Compares() {
				continue
			}
			if ws.open[sv.ID] = before[sv.ID]; ws.open[sv.ID] == nil {
				ws.open[sv.ID] = ws.count(sv, now)
			}
		}
	}
}

// count reads the counters of a service's backends.
func (ws *windows) count(sv *table.Service, now time.Time) *window {
	w := &window{began: now, counts: make(map[uint32]counted, len(sv.Backends))}
	for i := range sv.Backends {
		b := &sv.Backends[i]
		sum, times := ws.engine.Segment.SumBackend(b.ID), ws.engine.Segment.SumBackendTimes(b.ID)
		w.counts[b.ID] = counted{b.Origin, outlier.CountOf(&sum, &times)}
	}
	return w
}

// judge ejects the outliers between two counts. Backends that are in maintenance, ejected or
// moved are not compared.
func (ws *windows) judge(sv *table.Service, from, to *window) {
	counts := make([]outlier.Count, len(sv.Backends))
	for i := range sv.Backends {
		b := &sv.Backends[i]
		before, after := from.counts[b.ID], to.counts[b.ID]
		if b.Mode == farm.MaintenanceOff && before.origin == after.origin && !ws.engine.Health.Slot(b.ID).Ejected() {
			counts[i] = after.Since(&before.Count)
		}
	}
	for _, f := range sv.Outlier.Find(counts) {
		b := &sv.Backends[f.Index]
		if ws.engine.ejections.add(sv, b, f.Cause, f.Why) {
			w := ws.engine.Workers[0] // owner of the shard
			w.loop.Post(func() { w.shard.Backend(b.ID).Ejections++ })
		}
	}
}
