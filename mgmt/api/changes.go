package api

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

func (s *Server) changeOperations() []*operation {
	o := &operation{method: get, path: "/changes/stream", needs: rbac.Open, summary: "Watch changes and states", success: http.StatusOK}
	o.streams(s.watchChanges, "Changes as they happen", "an event called revision is a change of the configuration, and one called status a farm whose status is another one; "+
		"the first ones tell how things are")
	return []*operation{
		op(get, "/changes", rbac.HistoryShow, "List the changes since a revision", s.listChanges).
			with("since", "Only revisions with a higher number").with("limit", "How many, 50 when not given"),
		o,
	}
}

// listChanges lists revisions oldest first, so that who reads on with the last number
// misses none.
func (s *Server) listChanges(c *call) (List[RevisionView], error) {
	since, err := c.number("since", 0, 0, math.MaxInt64)
	if err != nil {
		return List[RevisionView]{}, err
	}
	limit, err := c.number("limit", defaultHistory, 1, maxHistory)
	if err != nil {
		return List[RevisionView]{}, err
	}
	revisions, err := s.deps.History.History(math.MaxInt, 0)
	if err != nil {
		return List[RevisionView]{}, err
	}
	var out []RevisionView
	for _, r := range slices.Backward(revisions) {
		if r.Number > since && uint64(len(out)) < limit {
			view := revisionView(r)
			view.Diff = ""
			out = append(out, view)
		}
	}
	return list(c.op.summary, out), nil
}

// The bounds of watching: each watcher asks for all states it sees, once a second.
const (
	maxChangeWatchers = 16
	changeEvery       = time.Second
)

// changeWatchers counts who watches.
type changeWatchers struct{ n atomic.Int32 }

func (w *changeWatchers) enter() bool {
	if w.n.Add(1) <= maxChangeWatchers {
		return true
	}
	w.n.Add(-1)
	return false
}

func (w *changeWatchers) leave() { w.n.Add(-1) }

// ChangedStatus is what became of a farm.
type ChangedStatus struct {
	Farm    string      `json:"farmname"`
	Status  farm.Status `json:"status" doc:"Blank when the farm is gone"`
	Problem string      `json:"problem,omitempty"`
}

// watchChanges streams what changes to who may see it, for as long as that holds.
func (s *Server) watchChanges(c *call) (func(huma.Context), error) {
	if !s.watchers.enter() {
		return nil, refuse(http.StatusServiceUnavailable, "%d watch already: wait until one has ended", maxChangeWatchers)
	}
	return func(ctx huma.Context) {
		defer s.watchers.leave()
		w := &changeWatch{call: c, send: events(humaecho.Unwrap(ctx).Response()), known: map[string]ChangedStatus{}}
		w.run()
	}, nil
}

// changeWatch is one who watches.
type changeWatch struct {
	*call
	send     func(parts ...string) bool
	revision uint64
	told     bool
	known    map[string]ChangedStatus
}

func (w *changeWatch) run() {
	tick := time.NewTicker(changeEvery)
	defer tick.Stop()
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	if !w.send(": watching\n\n") || !w.look() {
		return
	}
	for {
		select {
		case <-w.r.Context().Done():
			return
		case <-alive.C:
			if !w.send(": alive\n\n") {
				return
			}
		case <-tick.C:
			if !w.look() {
				return
			}
		}
	}
}

// look tells what is new; false when nobody may or can be told any more.
func (w *changeWatch) look() bool {
	who, ok := w.s.deps.Users.Identity(w.by.Who.Name())
	if !ok || !w.s.guard.Holds(w.r) {
		return false
	}
	w.by.Who = who
	cfg, revision := w.s.deps.Applier.Current()
	w.cfg = cfg
	if !w.told || revision.Number != w.revision {
		w.told, w.revision = true, revision.Number
		view := revisionView(revision)
		view.Diff = ""
		if !w.by.May(rbac.HistoryShow) || !w.seesAll() { // a number only
			view = RevisionView{Number: revision.Number, Time: revision.Time}
		}
		if !w.event("revision", view) {
			return false
		}
	}
	return w.states()
}

// states tells of the farms whose status is another one.
func (w *changeWatch) states() bool {
	now := map[string]ChangedStatus{}
	farms := w.farms()
	for i := range farms {
		f := &farms[i]
		now[f.Name] = ChangedStatus{Farm: f.Name, Status: w.s.status(f), Problem: w.s.problem(f)}
	}
	for name, status := range now {
		if w.known[name] != status && !w.event("status", status) {
			return false
		}
	}
	for name := range w.known {
		if _, there := now[name]; !there && !w.event("status", ChangedStatus{Farm: name}) {
			return false
		}
	}
	w.known = now
	return true
}

func (w *changeWatch) event(name string, about any) bool {
	b, _ := json.Marshal(about) // texts and numbers only: cannot fail
	return w.send("event: ", name, "\ndata: ", string(b), "\n\n")
}
