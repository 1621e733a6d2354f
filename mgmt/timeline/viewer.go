package timeline

import (
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/trial"
)

// Viewer is the sender of a request.
type Viewer struct {
	// Config is the active configuration. Farms are its farms that the viewer sees. All
	// reports that this is every farm.
	Config *farm.Config
	Farms  []farm.Farm
	All    bool
	// Gone reports that the viewer sees events of deleted farms.
	Gone bool
	// History allows to see the authors and reasons of changes, Certificates the events of
	// certificates without a farm.
	History, Certificates bool
	// Mask removes the names of hidden farms from a text; nil if the viewer sees all farms.
	Mask func(text string, hidden func(name string) bool) string
}

// sight applies the rights of a viewer to a list of events.
type sight struct {
	Viewer
	seen, there map[uint32]string // names by number
	ended       map[uint32]int    // index of the last event that deleted a farm of a number
	hidden      map[string]bool   // names of other farms, also of those renamed or deleted since
}

func (v Viewer) at(list []eventlog.Event) *sight {
	s := &sight{v, map[uint32]string{}, map[uint32]string{}, map[uint32]int{}, map[string]bool{}}
	for _, f := range v.Farms {
		s.seen[f.ID] = f.Name
	}
	for _, f := range v.Config.Farms {
		s.there[f.ID] = f.Name
		if _, sees := s.seen[f.ID]; !sees {
			s.hidden[f.Name] = true
		}
	}
	for i, e := range list {
		if len(e.Farms) == 1 && e.Farm != "" {
			if _, sees := s.seen[e.Farms[0]]; !sees {
				s.hidden[e.Farm] = true
			}
		}
		if e.Kind == eventlog.Deleted {
			for _, id := range e.Farms {
				s.ended[id] = i
			}
		}
	}
	for _, name := range s.seen { // another farm had it before
		delete(s.hidden, name)
	}
	return s
}

// farms returns the farms of the event at a position that exist and are visible, and
// whether there are others.
func (s *sight) farms(i int, e *eventlog.Event) (ids []uint32, names []string, others bool) {
	for _, id := range e.Farms {
		end, ended := s.ended[id]
		name, sees := s.seen[id]
		if !sees || ended && i < end {
			others = true
			continue
		}
		ids, names = append(ids, id), append(names, name)
	}
	return ids, names, others
}

// entry returns the event at a position as the viewer sees it; false if it is not visible.
func (s *sight) entry(i int, e *eventlog.Event) (Entry, bool) {
	ids, names, others := s.farms(i, e)
	out := Entry{Time: e.Time, Kind: Kind(e.Kind), Severity: e.Severity, Farm: named(names), Service: e.Service, Backend: e.Backend, Text: e.Text, Revision: e.Revision, farms: ids}
	switch {
	case len(ids) > 0:
	case others:
		if !s.Gone { // of deleted farms, or of others
			return out, false
		}
		out.Farm = gone(e.Farm)
	case e.Kind == eventlog.Engine || e.Kind == eventlog.Appliance: // it forwards for every farm
	case !s.All, e.Kind == eventlog.Certificate && !s.Certificates:
		return out, false
	}
	if e.Detail != "" && s.History && (s.All || !others) {
		out.Text += " " + e.Detail
	}
	out.Text = s.mask(out.Text)
	return out, true
}

// mask removes the names of farms hidden from the viewer. The problem of one farm may name
// another, e.g. the owner of its port.
func (s *sight) mask(text string) string {
	if s.Mask == nil {
		return text
	}
	return s.Mask(text, func(name string) bool { return s.hidden[name] })
}

// gone returns the name of a deleted farm, if known.
func gone(name string) string {
	if name == "" {
		return ""
	}
	return name + " (deleted)"
}

// revision returns a revision as the viewer sees it; false if it is not visible. If known,
// the event at i has the farms it affected.
func (s *sight) revision(r store.Revision, i int, known bool, list []eventlog.Event) (Entry, bool) {
	out := Entry{Time: r.Time, Kind: Kind(eventlog.Revision), Severity: eventlog.Info, Revision: r.Number, Text: fmt.Sprintf("revision %d", r.Number)}
	others := true
	if known {
		var names []string
		e := &list[i]
		out.farms, names, others = s.farms(i, e)
		if out.Farm = named(names); len(names) == 0 && s.Gone {
			out.Farm = gone(e.Farm)
		}
	}
	if len(out.farms) == 0 && !s.All {
		return out, false
	}
	if r.Source == apply.TimerSource || r.Source == trial.GuardSource {
		out.Severity = eventlog.Warning // a change was reverted
	}
	if s.History && (s.All || !others) {
		out.Text += " by " + r.Author
		if r.Comment != "" {
			out.Text += ": " + r.Comment
		}
	}
	out.Text = s.mask(out.Text)
	return out, true
}

// farms returns the farms of a request: all visible ones, or one.
func (q *Question) farms() []farm.Farm {
	if q.Only == nil {
		return q.Viewer.Farms
	}
	return slices.DeleteFunc(slices.Clone(q.Viewer.Farms), func(f farm.Farm) bool { return f.ID != q.Only.ID })
}
