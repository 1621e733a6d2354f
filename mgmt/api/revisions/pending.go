package revisions

import (
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/trial"
)

// PendingView describes the change that is reverted unless it is confirmed.
type PendingView struct {
	Pending  string    `json:"pending" enum:"true,false"`
	Revision uint64    `json:"revision,omitempty" doc:"Change, already in effect"`
	Base     uint64    `json:"base,omitempty" doc:"Revision to be restored"`
	Author   string    `json:"author,omitempty"`
	Source   string    `json:"source,omitempty"`
	Comment  string    `json:"comment,omitempty"`
	Farms    []string  `json:"farms,omitempty" doc:"Affected objects"`
	Since    time.Time `json:"since,omitzero"`
	Until    time.Time `json:"until,omitzero" doc:"Time of the automatic revert or, with a guard, confirmation"`
	Left     int64     `json:"left,omitempty" doc:"Remaining seconds"`
	Guard    string    `json:"guard,omitempty" doc:"Conditions of its guard; absent if it needs confirmation"`
	Measured []string  `json:"measured,omitempty" doc:"Current result of each guard condition"`
	Problem  string    `json:"problem,omitempty" doc:"Reason why it has not been reverted yet"`
	// Last is the outcome of the previous one.
	Last *EndedView `json:"last,omitempty" doc:"Result of the last attempt since mgmt started"`
}

// EndedView is the outcome of a pending change.
type EndedView struct {
	Revision uint64    `json:"revision"`
	Outcome  string    `json:"outcome" enum:"confirmed,taken back,went back"`
	Reason   string    `json:"reason,omitempty" doc:"Reason for the revert, or measurements of the guard"`
	Author   string    `json:"author"`
	Source   string    `json:"source"`
	At       time.Time `json:"at"`
	Now      uint64    `json:"now" doc:"Revision in effect since then"`
}

// pendingView describes the pending change as far as the caller may see it.
func (s *Resource) pendingView(c *rest.Call) PendingView {
	out := PendingView{Pending: "false"}
	if p := s.deps.Applier.Pending(); p != nil {
		out.Pending, out.Revision, out.Until = "true", p.Revision, p.Until
		progress := s.progress(p)
		if progress != nil && progress.Until.After(out.Until) {
			out.Until = progress.Until
		}
		out.Left = secondsLeft(out.Until.Sub(s.deps.Now()))
		if c.SeesChange(p.By.Name) {
			out.Base, out.Author, out.Source, out.Comment, out.Farms, out.Since = p.Base, p.By.Name, p.By.Source, p.Comment, p.Farms, p.Since
			out.Guard = trial.Conditions(p)
			if progress != nil {
				out.Measured, out.Problem = progress.Measured, progress.Problem
			}
		}
	}
	out.Last = s.lastView(c)
	return out
}

// secondsLeft rounds a remaining time up to whole seconds; 0 means that it is over and the
// revert is about to start.
func secondsLeft(left time.Duration) int64 {
	return int64(math.Ceil(max(0, left.Seconds())))
}

func (s *Resource) progress(p *apply.Pending) *trial.Progress {
	if s.deps.Progress == nil {
		return nil
	}
	if now := s.deps.Progress(); now != nil && now.Revision == p.Revision {
		return now
	}
	return nil
}

func (s *Resource) lastView(c *rest.Call) *EndedView {
	e := s.deps.Applier.LastEnded()
	if e == nil {
		return nil
	}
	out := &EndedView{Revision: e.Revision, Outcome: e.Outcome, At: e.At, Now: e.Now}
	if c.SeesChange(e.By.Name) {
		out.Reason, out.Author, out.Source = e.Reason, e.Author.Name, e.Author.Source
	}
	return out
}

func (s *Resource) getPending(c *rest.Call) (rest.Object[PendingView], error) {
	return rest.Object[PendingView]{Description: c.Summary(), Params: s.pendingView(c)}, nil
}

// mayEnd rejects ending a pending change unless the caller made it or may roll back. The
// author must still see its farms, and to confirm it must still be allowed to make it.
func mayEnd(c *rest.Call, p *apply.Pending, confirm bool) error {
	if c.By.May(rbac.HistoryRollback) && c.SeesAll() {
		return nil
	}
	hidden := func(name string) bool { f := c.Config.Farm(name); return f != nil && !c.Sees(f.ID) }
	if c.IsAuthor(p.By.Name) && !slices.ContainsFunc(p.Farms, hidden) {
		if confirm {
			return c.MayConfirm(p)
		}
		return nil
	}
	return rest.Refuse(http.StatusForbidden, "you may not do this: the pending change is of somebody else, or of farms that your group does not see any more, and the permission %q is needed for all farms", rbac.HistoryRollback)
}

func (s *Resource) confirm(c *rest.Call) (rest.Object[PendingView], error) {
	n, err := s.revisionParam(c)
	if err != nil {
		return rest.Object[PendingView]{}, err
	}
	may := func() error {
		if p := s.deps.Applier.Pending(); p != nil && p.Revision == n {
			return mayEnd(c, p, true)
		}
		return nil
	}
	if err := c.Require(may); err != nil {
		return rest.Object[PendingView]{}, err
	}
	if err := s.deps.Applier.Confirm(c.Context, c.Author(), n, ""); err != nil {
		return rest.Object[PendingView]{}, err
	}
	return rest.Object[PendingView]{Description: c.Summary(), Params: s.pendingView(c), Message: "The change is kept."}, nil
}

func (s *Resource) takeBack(c *rest.Call) (rest.Object[PendingView], error) {
	p := s.deps.Applier.Pending()
	if p == nil {
		return rest.Object[PendingView]{}, rest.NotFound("no change is pending")
	}
	if err := c.Require(func() error { return mayEnd(c, p, false) }); err != nil {
		return rest.Object[PendingView]{}, err
	}
	result, err := s.deps.Applier.TakeBack(c.Context, c.Author(), p.Revision)
	if _, err = c.Keep(result, err, 0); err != nil {
		return rest.Object[PendingView]{}, err
	}
	return rest.Object[PendingView]{Description: c.Summary(), Params: s.pendingView(c), Message: "The configuration is what it was before the change."}, nil
}

func (s *Resource) pendingOperations() []*rest.Operation {
	return []*rest.Operation{
		rest.Op(rest.Post, "/transactions", rbac.Open, "Apply several changes as one transaction", s.transact).Body(transactionFields{}).Refers().Edits().Forces().Alone(),
		rest.Op(rest.Get, "/pending", rbac.Open, "Get the pending change", s.getPending),
		rest.Op(rest.Delete, "/pending", rbac.Open, "Revert the pending change", s.takeBack),
		rest.Op(rest.Post, "/history/{revision}/confirm", rbac.Open, "Confirm the pending change", s.confirm),
	}
}
