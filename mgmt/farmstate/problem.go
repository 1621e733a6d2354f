package farmstate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// Told returns the fault of the backend with that stable ID that accepts connections; empty if
// none is known.
type Told func(backend uint32) string

// mostNamed is how many backends a problem names one by one.
const mostNamed = 3

// Problem says in one sentence why the status of the farm is not up, see Look.
func Problem(f *farm.Farm, health Health, told Told, serving Serving) string {
	_, problem := Look(f, health, told, serving)
	return problem
}

// finding is the known state of a farm's backends.
type finding struct {
	Counts
	told  bool     // a backend in use has a fault
	named []string // the faults of the first of them
	more  int      // the number of further ones
}

// survey looks at each backend once. It makes texts only for the named ones, since lists of
// farms survey thousands of healthy backends.
func survey(f *farm.Farm, health Health, told Told) (out finding) {
	groups := f.Groups()
	if len(groups) == 0 && f.Carries() == farm.TrafficQueries {
		out.Up++ // its zones need no backends
	}
	for _, g := range groups {
		if g.Redirects() {
			out.Up++
			continue
		}
		list := g.Backends()
		for i := range list {
			b := &list[i]
			if b.Left || b.Spreads() && len(g.Parts(b.ID)) > 0 {
				continue // removed, or represented by its parts
			}
			out.add(g, i, Backend(b, health), told)
		}
	}
	return out
}

func (w *finding) add(g farm.Group, i int, status farm.Status, told Told) {
	b := &g.Backends()[i]
	switch status {
	case farm.StatusMaintenance:
		w.Maintenance++
		w.name(g, i, "is in maintenance")
	case farm.StatusDown:
		w.Down++
		if b.Unresolved() {
			w.name(g, i, "has no address")
			return
		}
		reason := told(b.ID)
		if reason == "" {
			reason = "is down"
		}
		w.name(g, i, reason)
	default:
		w.Up++
		if reason := told(b.ID); reason != "" {
			w.told = true
			w.name(g, i, reason)
		}
	}
}

// name adds the fault of the backend at a position.
func (w *finding) name(g farm.Group, i int, what string) {
	if len(w.named) == mostNamed {
		w.more++
		return
	}
	name := fmt.Sprintf("backend %d (%s)", g.Number(i), g.Backends()[i].ShownAddress())
	if g.OfService() {
		name += " of service " + g.Name()
	}
	w.named = append(w.named, name+" "+what)
}

// text lists the faults.
func (w *finding) text() string {
	text := strings.Join(w.named, "; ")
	if w.more > 0 {
		text += fmt.Sprintf("; and %d more", w.more)
	}
	return text
}

func (w *finding) status(serving Serving) farm.Status {
	switch {
	case w.Up == 0:
		return farm.StatusCritical
	case w.Down > 0, len(serving.Warnings) > 0, w.told:
		return farm.StatusProblem
	case w.Maintenance > 0:
		return farm.StatusMaintenance
	default:
		return farm.StatusUp
	}
}

func (w *finding) problem(f *farm.Farm, serving Serving) string {
	switch {
	case w.Up > 0 && len(serving.Warnings) == 0:
		return w.text()
	case w.Up > 0:
		return strings.Join(slices.DeleteFunc(append(slices.Clone(serving.Warnings), w.text()), func(s string) bool { return s == "" }), "; ")
	case f.HasServices() && len(f.Groups()) == 0:
		return "it has no services: every request is answered 503"
	case len(w.named) == 0:
		return "it has no backends"
	}
	return "no backend is usable: " + w.text()
}
