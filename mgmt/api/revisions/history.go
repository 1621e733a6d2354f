package revisions

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// History reads stored revisions; *store.Store implements it.
type History interface {
	History(limit int, before uint64) ([]store.Revision, error)
	Get(number uint64) (*farm.Config, store.Revision, error)
	Diff(a, b uint64) (string, error)
	Tags() ([]store.Tag, error)
	AddTag(store.Tag) error
	DeleteTag(name string) error
}

// RevisionView is one revision of the configuration.
type RevisionView struct {
	Number  uint64    `json:"number"`
	Time    time.Time `json:"time"`
	Author  string    `json:"author"`
	Source  string    `json:"source"`
	Comment string    `json:"comment"`
	Tags    []string  `json:"tags,omitempty" doc:"Tags of the revision; a tagged revision is never discarded"`
	Diff    string    `json:"diff,omitempty" doc:"Unified diff to the previous revision"`

	DiffOmitted bool   `json:"diff_omitted,omitempty" doc:"There is a difference, but it can no longer be shown"`
	DiffNote    string `json:"diff_note,omitempty" doc:"Reason why it cannot be shown"`
}

func revisionView(r store.Revision) RevisionView {
	return RevisionView{Number: r.Number, Time: r.Time, Author: r.Author, Source: r.Source, Comment: r.Comment, Diff: r.Diff}
}

const (
	defaultHistory = 50
	maxHistory     = 1000
)

func (s *Resource) listHistory(c *rest.Call) (rest.List[RevisionView], error) {
	limit, err := c.Number("limit", defaultHistory, 1, maxHistory)
	if err != nil {
		return rest.List[RevisionView]{}, err
	}
	before, err := c.Number("before", 0, 1, math.MaxInt64)
	if err != nil {
		return rest.List[RevisionView]{}, err
	}
	tags, err := s.deps.History.Tags()
	if err != nil {
		return rest.List[RevisionView]{}, err
	}
	read := func(limit int, before uint64) ([]RevisionView, error) {
		revisions, err := s.deps.History.History(limit, before)
		out := make([]RevisionView, len(revisions))
		for i, r := range revisions {
			out[i] = revisionView(r)
			out[i].Tags = tagsOf(tags, r.Number)
		}
		return out, err
	}
	found, err := rest.Search(c, int(limit), before, read, func(r RevisionView) uint64 { return r.Number })
	for i := range found {
		found[i].Diff = "" // keeps the list short
	}
	return rest.NewList(c.Summary(), found), err
}

// revisionParam reads the revision in the path: its number or a tag.
func (s *Resource) revisionParam(c *rest.Call) (uint64, error) {
	return s.revisionOf(c.Param("revision"))
}

func (s *Resource) revisionOf(text string) (uint64, error) {
	if tagForm().MatchString(text) {
		return s.tagged(text)
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return 0, rest.NotFound("the revision %s does not exist", rest.Quote(text))
	}
	return n, nil
}

func (s *Resource) getRevision(c *rest.Call) (rest.Object[RevisionView], error) {
	n, err := s.revisionParam(c)
	if err != nil {
		return rest.Object[RevisionView]{}, err
	}
	_, r, err := s.deps.History.Get(n)
	if err != nil {
		return rest.Object[RevisionView]{}, noRevision(err, n)
	}
	tags, err := s.deps.History.Tags()
	if err != nil {
		return rest.Object[RevisionView]{}, err
	}
	view := revisionView(r)
	view.Tags = tagsOf(tags, n)
	if r.DiffOmitted {
		view.Diff, err = s.deps.History.Diff(n-1, n)
		switch {
		case errors.Is(err, store.ErrNotFound):
			view.DiffOmitted, view.DiffNote = true, fmt.Sprintf("the difference is too long to be stored, and the revision %d, of which it could be made, is no longer kept", n-1)
		case err != nil:
			return rest.Object[RevisionView]{}, err
		}
	}
	view.Diff = c.Veil().Diff(view.Diff)
	return rest.Object[RevisionView]{Description: c.Summary(), Params: view}, nil
}

// DiffView is the difference of two revisions.
type DiffView struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
	Diff string `json:"diff" doc:"Unified diff of the documents; empty if they are equal"`
}

// diffRevision compares a revision with its predecessor or with the revision from.
func (s *Resource) diffRevision(c *rest.Call) (rest.Object[DiffView], error) {
	to, err := s.revisionParam(c)
	if err != nil {
		return rest.Object[DiffView]{}, err
	}
	from := max(to, 1) - 1
	if text := c.Query("from"); tagForm().MatchString(text) {
		from, err = s.tagged(text)
	} else {
		from, err = c.Number("from", from, 0, math.MaxInt64)
	}
	if err != nil {
		return rest.Object[DiffView]{}, err
	}
	diff, err := s.deps.History.Diff(from, to)
	if err != nil {
		return rest.Object[DiffView]{}, noRevision(err, s.missing(from, to))
	}
	return rest.Object[DiffView]{Description: c.Summary(), Params: DiffView{From: from, To: to, Diff: c.Veil().Diff(diff)}}, nil
}

// rollbackFields is the body of a rollback.
type rollbackFields struct{}

// Params lists the fields for help responses and OpenAPI.
func (rollbackFields) Params() []field.Param {
	return []field.Param{{Name: "revision", Format: "string", Options: []string{"non_blank", "required"},
		Description: "Revision to restore as the latest one: its number or a tag."}}
}

func (s *Resource) rollback(c *rest.Call) (rest.Object[Applied], error) {
	body, err := c.Object(rollbackFields{})
	if err != nil {
		return rest.Object[Applied]{}, err
	}
	n, err := s.sentRevision(body["revision"])
	if err != nil {
		return rest.Object[Applied]{}, err
	}
	expect, err := c.Expected()
	if err != nil {
		return rest.Object[Applied]{}, err
	}
	if _, _, err := s.deps.History.Get(n); err != nil {
		return rest.Object[Applied]{}, noRevision(err, n)
	}
	result, err := s.deps.Applier.Rollback(c.Context, c.Author(), "", expect, n)
	if result, err = c.Keep(result, err, expect); err != nil {
		return rest.Object[Applied]{}, err
	}
	return rest.Object[Applied]{Description: c.Summary(), Params: applied(c, result, false)}, nil
}

// sentRevision reads a revision in a body: a number or a tag.
func (s *Resource) sentRevision(v any) (uint64, error) {
	if text, is := v.(string); is && tagForm().MatchString(text) {
		return s.tagged(text)
	}
	n, ok := field.ParseNumber(v)
	if !ok || n < 0 {
		return 0, rest.BadRequest("revision must be a number from 0 on, or a tag")
	}
	return uint64(n), nil
}

// missing returns which of two revisions does not exist.
func (s *Resource) missing(from, to uint64) uint64 {
	if _, _, err := s.deps.History.Get(from); err != nil {
		return from
	}
	return to
}

// noRevision adds the number to a not-found error and leaves other errors unchanged.
func noRevision(err error, n uint64) error {
	r := rest.RejectionOf(err, false)
	if r.Status == 404 {
		return rest.NotFound("the revision %d does not exist, or is no longer kept", n)
	}
	return err
}
