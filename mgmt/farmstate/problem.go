package farmstate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// Told answers what is wrong with the backend of that stable ID although it can be
// connected to; empty when nothing is known to be.
type Told func(backend uint32) string

// mostNamed is how many backends a problem names one by one.
const mostNamed = 3

// Problem says in one sentence why the status of the farm is not up; it is empty
// for a farm that is, and for one that was stopped: that is no problem.
func Problem(f *farm.Farm, health Health, told Told, serving Serving) string {
	switch {
	case serving.Problem != "", f.Stopped:
		return serving.Problem
	case !serving.Running:
		return "not served"
	case serving.Stale:
		return "the engine still runs an older configuration"
	}
	var bad []string
	for _, g := range f.Groups() {
		bad = append(bad, problemsOf(g, health, told)...)
	}
	text := shorten(bad)
	if c := Count(f, health); c.Up > 0 {
		return strings.Join(slices.DeleteFunc(append(slices.Clone(serving.Warnings), text), func(s string) bool { return s == "" }), "; ")
	}
	switch {
	case f.HasServices() && len(f.Groups()) == 0:
		return "it has no services: every request is answered 503"
	case len(bad) == 0:
		return "it has no backends"
	}
	return "no backend is usable: " + text
}

// problemsOf are those of the backends of a group.
func problemsOf(g farm.Group, health Health, told Told) (out []string) {
	if g.Redirects() {
		return nil
	}
	list := g.Backends()
	for i := range list {
		b := &list[i]
		if b.Left || b.Spreads() && len(g.Parts(b.ID)) > 0 {
			continue
		}
		name := fmt.Sprintf("backend %d (%s)", g.Number(i), b.ShownAddress())
		if g.OfService() {
			name += " of service " + g.Name()
		}
		switch Backend(b, health) {
		case farm.StatusMaintenance:
			out = append(out, name+" is in maintenance")
		case farm.StatusDown:
			if b.Unresolved() {
				out = append(out, name+" has no address")
				continue
			}
			reason := told(b.ID)
			if reason == "" {
				reason = "is down"
			}
			out = append(out, name+" "+reason)
		default:
			if reason := told(b.ID); reason != "" {
				out = append(out, name+" "+reason)
			}
		}
	}
	return out
}

func shorten(list []string) string {
	if len(list) <= mostNamed {
		return strings.Join(list, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(list[:mostNamed], "; "), len(list)-mostNamed)
}
