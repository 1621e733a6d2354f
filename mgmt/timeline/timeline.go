package timeline

import (
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/timeseries"
)

// Kind is the kind of an entry: the kinds of mgmt/eventlog, and steps.
type Kind string

// The kinds of steps.
const (
	Latency Kind = "latency"
	Errors  Kind = "errors"
)

// Kinds lists all kinds.
func Kinds() []Kind {
	return []Kind{Kind(eventlog.Health), Kind(eventlog.Maintenance), Kind(eventlog.Revision), Kind(eventlog.Confirmed), Kind(eventlog.Certificate), Kind(eventlog.Limit), Kind(eventlog.List), Kind(eventlog.Engine), Kind(eventlog.Appliance), Latency, Errors}
}

// IsStep reports whether a kind is found in numbers.
func (k Kind) IsStep() bool { return k == Latency || k == Errors }

// Entry is one entry of the timeline.
type Entry struct {
	Time     time.Time         `json:"time"`
	Kind     Kind              `json:"kind" enum:"health,maintenance,revision,confirmation,certificate,limit,engine,appliance,latency,errors"`
	Severity eventlog.Severity `json:"severity" enum:"info,warning,error" doc:"Severity"`
	Farm     string            `json:"farm" doc:"Current names, separated by commas; empty if the entry concerns the appliance"`
	Service  string            `json:"service"`
	Backend  string            `json:"backend" doc:"ID and address"`
	Text     string            `json:"text" doc:"Event"`
	Revision uint64            `json:"revision,omitempty"`
	Before   []Cause           `json:"before,omitempty" doc:"Events shortly before a step, the most likely cause first"`

	farms []uint32
}

// Cause is an event before a step.
type Cause struct {
	Time     time.Time `json:"time"`
	Seconds  int       `json:"seconds" doc:"Time before the step"`
	Kind     Kind      `json:"kind"`
	Farm     string    `json:"farm"`
	Service  string    `json:"service"`
	Backend  string    `json:"backend"`
	Text     string    `json:"text" doc:"Event"`
	Revision uint64    `json:"revision,omitempty"`
}

// Sources are the sources of a timeline. Numbers may be nil: then there are no steps.
type Sources struct {
	Events interface {
		Read(from time.Time) ([]eventlog.Event, error)
	}
	Revisions interface {
		History(limit int, before uint64) ([]store.Revision, error)
	}
	Numbers interface {
		Read(object string, from, to, now time.Time, series ...string) (timeseries.Points, error)
	}
}

// Question is a request for a timeline, with the rights of its viewer.
type Question struct {
	From, To, Now time.Time
	Viewer        Viewer
	// Only is the only farm of the request, nil: all.
	Only *farm.Farm
	// Kind is the only kind of the request, "": all.
	Kind Kind
}

// Read returns the entries of a time, the newest last.
func (s Sources) Read(q Question) ([]Entry, error) {
	all, err := s.happened(q)
	if err != nil {
		return nil, err
	}
	if s.Numbers != nil && (q.Kind == "" || q.Kind.IsStep()) {
		all, err = s.withSteps(q, all)
		if err != nil {
			return nil, err
		}
	}
	out := []Entry{}
	for _, e := range all {
		if !e.Time.Before(q.From) && !e.Time.After(q.To) && q.about(&e) && (q.Kind == "" || q.Kind == e.Kind) {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b Entry) int { return a.Time.Compare(b.Time) })
	return out, nil
}

// about reports whether an entry is about the requested farm, and restricts it to that
// farm.
func (q *Question) about(e *Entry) bool {
	if q.Only == nil {
		return true
	}
	e.Farm = q.Only.Name
	return slices.Contains(e.farms, q.Only.ID)
}

// happened returns the stored events, starting some time before the requested time, since
// these may be causes.
func (s Sources) happened(q Question) (out []Entry, err error) {
	from := q.From.Add(-lookback(q))
	kept, err := s.Events.Read(from)
	if err != nil {
		return nil, err
	}
	revisions, err := s.revisions(from)
	if err != nil {
		return nil, err
	}
	v := q.Viewer.at(kept)
	touched := map[uint64]int{}
	for i := range kept {
		e := &kept[i]
		switch e.Kind {
		case eventlog.Deleted:
		case eventlog.Revision:
			touched[e.Revision] = i
		default:
			if entry, sees := v.entry(i, e); sees {
				out = append(out, entry)
			}
		}
	}
	for _, r := range revisions {
		i, known := touched[r.Number]
		if entry, sees := v.revision(r, i, known, kept); sees {
			out = append(out, entry)
		}
	}
	return out, nil
}

// page is how many revisions are read at once.
const page = 100

// revisions returns the revisions since a time. Their times may go back if the clock was
// set, so reading ends at a page that is older as a whole.
func (s Sources) revisions(from time.Time) (out []store.Revision, err error) {
	for before := uint64(0); ; {
		list, err := s.Revisions.History(page, before)
		if err != nil {
			return nil, err
		}
		n := len(out)
		for _, r := range list {
			if !r.Time.Before(from) {
				out = append(out, r)
			}
		}
		if len(list) < page || len(out) == n {
			return out, nil
		}
		before = list[len(list)-1].Number
	}
}

// named joins names of farms.
func named(names []string) string { return strings.Join(names, ", ") }
