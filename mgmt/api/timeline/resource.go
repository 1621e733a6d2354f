// Package timeline implements the API resource of the timeline, which shows all events on
// one axis (mgmt/timeline).
package timeline

import (
	"slices"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/timeline"
)

// Deps are the dependencies of the operations. Without Events there are none.
type Deps struct {
	timeline.Sources
	Now func() time.Time
}

// Resource implements the operations. Use New to make one.
type Resource struct{ deps Deps }

// New returns the resource over deps.
func New(deps Deps) *Resource { return &Resource{deps} }

// Operations returns the operations of the resource.
func (s *Resource) Operations() []*rest.Operation {
	if s.deps.Events == nil {
		return nil
	}
	return []*rest.Operation{
		rest.Op(rest.Get, "/timeline", rbac.Open, "List events, newest last", s.list).
			With("since", "Start: an age, e.g. 15m, 6h or 7d, or a time, e.g. 2026-11-23T12:00:00Z; defaults to 1h").
			With("order", "newest: newest entries first, so that limit returns these; defaults to newest last").
			With("until", "End time, e.g. 2026-11-23T12:00:00Z; defaults to now"),
	}
}

func (s *Resource) list(c *rest.Call) (rest.List[timeline.Entry], error) {
	q, err := s.question(c)
	if err != nil {
		return rest.List[timeline.Entry]{}, err
	}
	entries, err := s.deps.Read(q)
	if err != nil {
		return rest.List[timeline.Entry]{}, err
	}
	switch order := c.Query("order"); order {
	case "":
	case "newest":
		slices.Reverse(entries)
	default:
		return rest.List[timeline.Entry]{}, rest.BadRequest("order: %s is not allowed, allowed is newest", rest.Quote(order))
	}
	return rest.NewList(c.Summary(), entries), nil
}

// question reads the query and the caller's view.
func (s *Resource) question(c *rest.Call) (q timeline.Question, err error) {
	q.Now = s.deps.Now()
	if q.From, q.To, err = span(c, q.Now); err != nil {
		return q, err
	}
	if name := c.Query("farm"); name != "" {
		if q.Only, err = c.Visible(name); err != nil {
			return q, err
		}
	}
	if q.Kind, err = rest.OneOf(c, "kind", timeline.Kinds()); err != nil {
		return q, err
	}
	q.Viewer = timeline.Viewer{Config: c.Config, Farms: c.Farms(), All: c.SeesAll(), Gone: c.By.Who.Root(),
		History: c.By.May(rbac.HistoryShow), Certificates: c.By.May(rbac.CertificateShow)}
	if !q.Viewer.All {
		q.Viewer.Mask = rest.MaskFarms
	}
	return q, nil
}

// span reads since and until.
func span(c *rest.Call, now time.Time) (from, to time.Time, err error) {
	to = now
	if text := c.Query("until"); text != "" {
		if to, err = time.Parse(time.RFC3339, text); err != nil {
			return from, to, rest.BadRequest("until: %s is no time, write one like 2026-11-23T12:00:00Z", rest.Quote(text))
		}
	}
	text := c.Query("since")
	if from, err = time.Parse(time.RFC3339, text); err != nil {
		back, ok := rest.ParseBack(text)
		if !ok {
			return from, to, rest.BadRequest("since: %s is not allowed, allowed are times such as 15m, 6h or 7d, of a year at most, or 2026-11-23T12:00:00Z", rest.Quote(text))
		}
		from = to.Add(-back)
	}
	if !from.Before(to) {
		return from, to, rest.BadRequest("since: it is not before until")
	}
	return from, to, nil
}
