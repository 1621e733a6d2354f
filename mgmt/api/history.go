package api

import (
	"math"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// RevisionView is one revision of the configuration.
type RevisionView struct {
	Number  uint64    `json:"number"`
	Time    time.Time `json:"time"`
	Author  string    `json:"author"`
	Source  string    `json:"source"`
	Comment string    `json:"comment"`
	Diff    string    `json:"diff,omitempty" doc:"Unified difference to the revision before"`
}

func revisionView(r store.Revision) RevisionView {
	return RevisionView{Number: r.Number, Time: r.Time, Author: r.Author, Source: r.Source, Comment: r.Comment, Diff: r.Diff}
}

const (
	defaultHistory = 50
	maxHistory     = 1000
)

func (s *Server) listHistory(c *call) (List[RevisionView], error) {
	limit, err := c.number("limit", defaultHistory, 1, maxHistory)
	if err != nil {
		return List[RevisionView]{}, err
	}
	before, err := c.number("before", 0, 1, math.MaxInt64)
	if err != nil {
		return List[RevisionView]{}, err
	}
	revisions, err := s.deps.History.History(int(limit), before)
	if err != nil {
		return List[RevisionView]{}, err
	}
	var out []RevisionView
	for _, r := range revisions {
		view := revisionView(r)
		view.Diff = "" // a list stays short
		out = append(out, view)
	}
	return list(c.op.summary, out), nil
}

// revision reads the revision number in the path.
func (c *call) revisionParam() (uint64, error) {
	text := c.param("revision")
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return 0, notFound("the revision %s does not exist", quoteName(text))
	}
	return n, nil
}

func (s *Server) getRevision(c *call) (Object[RevisionView], error) {
	n, err := c.revisionParam()
	if err != nil {
		return Object[RevisionView]{}, err
	}
	_, r, err := s.deps.History.Get(n)
	if err != nil {
		return Object[RevisionView]{}, noRevision(err, n)
	}
	return Object[RevisionView]{Description: c.op.summary, Params: revisionView(r)}, nil
}

// DiffView is the difference of two revisions.
type DiffView struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
	Diff string `json:"diff" doc:"Unified difference of the documents, empty when they are equal"`
}

// diffRevision compares a revision with the one before, or the one asked for.
func (s *Server) diffRevision(c *call) (Object[DiffView], error) {
	to, err := c.revisionParam()
	if err != nil {
		return Object[DiffView]{}, err
	}
	from, err := c.number("from", max(to, 1)-1, 0, math.MaxInt64)
	if err != nil {
		return Object[DiffView]{}, err
	}
	diff, err := s.deps.History.Diff(from, to)
	if err != nil {
		return Object[DiffView]{}, noRevision(err, s.missing(from, to))
	}
	return Object[DiffView]{Description: c.op.summary, Params: DiffView{From: from, To: to, Diff: diff}}, nil
}

// rollbackFields is the body of a rollback.
type rollbackFields struct{}

// Params lists the fields for the help body and the document.
func (rollbackFields) Params() []validate.Param {
	return []validate.Param{{Name: "revision", Format: "integer", Interval: "0,", Options: []string{"non_blank", "required"},
		Description: "Revision whose content becomes the newest one."}}
}

func (s *Server) rollback(c *call) (Object[Applied], error) {
	body, err := c.object(rollbackFields{})
	if err != nil {
		return Object[Applied]{}, err
	}
	n, ok := validate.ParseNumber(body["revision"])
	if !ok || n < 0 {
		return Object[Applied]{}, badRequest("revision must be a number from 0 on")
	}
	expect, err := c.expected()
	if err != nil {
		return Object[Applied]{}, err
	}
	if _, _, err := s.deps.History.Get(uint64(n)); err != nil {
		return Object[Applied]{}, noRevision(err, uint64(n))
	}
	result, err := s.deps.Applier.Rollback(c.ctx, c.author(), "", expect, uint64(n))
	if result, err = c.keep(result, err, expect); err != nil {
		return Object[Applied]{}, err
	}
	return Object[Applied]{Description: c.op.summary, Params: c.applied(result, false)}, nil
}

// missing is the one of two revisions that does not exist.
func (s *Server) missing(from, to uint64) uint64 {
	if _, _, err := s.deps.History.Get(from); err != nil {
		return from
	}
	return to
}

// noRevision says which revision was not found; other errors stay what they are.
func noRevision(err error, n uint64) error {
	r := rejectionOf(err, false)
	if r.status == 404 {
		return notFound("the revision %d does not exist, or is no longer kept", n)
	}
	return err
}
