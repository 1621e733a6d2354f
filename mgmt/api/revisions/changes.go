package revisions

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/store"
)

func (s *Resource) changeOperations() []*rest.Operation {
	return []*rest.Operation{
		rest.Op(rest.Get, "/changes", rbac.HistoryShow, "List the changes since a revision", s.listChanges).CutsItself().
			With("since", "Only revisions with a higher number").With("limit", "Maximum number of entries; defaults to 50"),
		rest.Stream("/changes/stream", rbac.Open, "Watch changes and states", "Changes as they happen",
			"an event called revision is a change of the configuration, one called pending a change that became pending or no longer is, and one called status a farm whose status is another one; the first ones tell how things are", s.watchChanges),
	}
}

// listChanges lists revisions oldest first, so that a client that continues from the last
// number misses none.
func (s *Resource) listChanges(c *rest.Call) (rest.List[RevisionView], error) {
	since, err := c.Number("since", 0, 0, math.MaxInt64)
	if err != nil {
		return rest.List[RevisionView]{}, err
	}
	limit, err := c.Number("limit", defaultHistory, 1, maxHistory)
	if err != nil {
		return rest.List[RevisionView]{}, err
	}
	revisions, err := s.after(since)
	if err != nil {
		return rest.List[RevisionView]{}, err
	}
	var out []RevisionView
	for _, r := range slices.Backward(revisions) {
		if r.Number > since {
			out = append(out, revisionView(r))
		}
	}
	out = rest.Matching(c, out)
	out = out[:min(uint64(len(out)), limit)]
	for i := range out {
		out[i].Diff = ""
	}
	return rest.NewList(c.Summary(), out), nil
}

// after returns the revisions with a higher number, newest first. Followers ask repeatedly
// for the last few, so it reads only as many as can exist. A revision written meanwhile is
// left for the next call, as it would displace the oldest.
func (s *Resource) after(since uint64) ([]store.Revision, error) {
	newest, err := s.deps.History.History(1, 0)
	if err != nil || len(newest) == 0 || newest[0].Number <= since {
		return nil, err
	}
	return s.deps.History.History(int(min(newest[0].Number-since, math.MaxInt)), newest[0].Number+1)
}

// Limits of watching. Each open page of the GUI is a watcher, which looks for changes every
// changeEvery.
const (
	maxChangeWatchers = 256
	changeEvery       = time.Second
)

// ChangedStatus is the new status of a farm.
type ChangedStatus struct {
	Farm    string      `json:"farmname"`
	Status  farm.Status `json:"status" doc:"Blank when the farm is gone"`
	Problem string      `json:"problem,omitempty"`
}

// watchChanges streams changes to the caller as long as the caller may see them.
func (s *Resource) watchChanges(c *rest.Call) (rest.Streamed, error) {
	leave, err := c.Seat(&s.watchers)
	if err != nil {
		return nil, err
	}
	return rest.Events(func(send rest.Sender) {
		defer leave()
		w := &changeWatch{Call: c, s: s, send: send, ended: s.deps.Applier.LastEnded(), known: map[string]ChangedStatus{}}
		w.run()
	}), nil
}

// changeWatch is one watcher.
type changeWatch struct {
	*rest.Call
	s        *Resource
	send     rest.Sender
	revision uint64
	told     bool
	pending  *apply.Pending
	ended    *apply.Ended
	known    map[string]ChangedStatus
	seen     *moment // of known
	sight    any     // of the caller, for known
}

func (w *changeWatch) run() {
	tick := time.NewTicker(changeEvery)
	defer tick.Stop()
	alive := time.NewTicker(rest.AliveEvery)
	defer alive.Stop()
	if !w.send(": watching\n\n") || !w.look() {
		return
	}
	for {
		select {
		case <-w.Request.Context().Done():
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

// look sends what is new. It returns false if the caller lost the right or the connection.
func (w *changeWatch) look() bool {
	_, revision := w.s.deps.Applier.Current() // taken first: farms created later decide who sees all
	if !w.Renew() {
		return false
	}
	if !w.told || revision.Number != w.revision {
		w.told, w.revision = true, revision.Number
		view := revisionView(revision)
		view.Diff = ""
		if !w.By.May(rbac.HistoryShow) || !w.SeesAll() { // the number only
			view = RevisionView{Number: revision.Number, Time: revision.Time}
		}
		if !w.event("revision", view) {
			return false
		}
	}
	return w.trial() && w.states()
}

// trial sends a change that became pending, and the outcome of one.
func (w *changeWatch) trial() bool {
	pending, ended := w.s.deps.Applier.Pending(), w.s.deps.Applier.LastEnded()
	if pending == w.pending && ended == w.ended {
		return true
	}
	w.pending, w.ended = pending, ended
	return w.event("pending", w.s.pendingView(w.Call))
}

// states sends the farms whose status changed.
func (w *changeWatch) states() bool {
	moment, sight := w.s.statuses.read(w.Config), w.By.Who.Sight()
	if moment == w.seen && sight == w.sight {
		return true
	}
	w.seen, w.sight = moment, sight
	now := map[string]ChangedStatus{}
	for id, status := range moment.farm {
		if w.By.Who.MayFarm(id) {
			status.Problem = w.Discreet(status.Problem)
			now[status.Farm] = status
		}
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
	b, _ := json.Marshal(about) // strings and numbers only: cannot fail
	return w.send("event: ", name, "\ndata: ", string(b), "\n\n")
}
