package lint

import (
	"fmt"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// Settled is the minimum time that a backend must be down for a warning. Until then it is
// an incident.
const Settled = 24 * time.Hour

// backends reports backends that are down, whose check cannot run, or whose host name has
// unused addresses or lacks one. Backends created from a name are reported with it. Services
// that redirect are skipped, as their backends have no clients.
func (l *look) backends(f *farm.Farm) {
	if f.Stopped {
		return
	}
	for _, g := range f.Groups() {
		if g.Redirects() {
			continue
		}
		list := g.Backends()
		for i := range list {
			b := &list[i]
			if b.Of != 0 || b.Left {
				continue
			}
			if b.Named() {
				l.hostName(g, i)
			}
			switch l.evidence.Status(g, i) {
			case farm.StatusMaintenance:
			case farm.StatusDown:
				l.add(l.down(g, i))
			default:
				l.unasked(g, i)
			}
		}
	}
}

func (l *look) down(g farm.Group, position int) Finding {
	b, number := &g.Backends()[position], g.Number(position)
	f := Finding{Code: BackendDown, Severity: Info, Farm: g.Farm.Name, Service: g.Name(), Backend: &number,
		Message:  fmt.Sprintf("backend %d (%s) of %s is down", number, b.ShownAddress(), g),
		Evidence: "down; since when is not known",
		Advice:   "mend it, put it into maintenance, or delete it"}
	if since := l.evidence.Since(b.ID); !since.IsZero() {
		since = since.UTC()
		f.Since, f.Evidence = &since, "down since "+since.Format(time.RFC3339)
		if l.evidence.Now.Sub(since) >= Settled {
			f.Severity = Warning
		}
	}
	if n, known := l.evidence.Hits(g.Farm, b.ID); known {
		f.Evidence += fmt.Sprintf("; %d requests were ever sent to it", n)
	}
	return f
}

// unasked reports a backend whose check cannot run, so that a failure would go unnoticed.
func (l *look) unasked(g farm.Group, position int) {
	b, number := &g.Backends()[position], g.Number(position)
	why := l.evidence.Unable(b.ID)
	for _, part := range g.Parts(b.ID) {
		if why == "" && !part.Left {
			why = l.evidence.Unable(part.ID)
		}
	}
	if why == "" {
		return
	}
	advice := "remove the cause, or link a check that works from this appliance"
	if g.Farm.Carries() == farm.TrafficQueries {
		advice += "; answer_unprobed=true answers with backends whose state is not known"
	}
	l.add(Finding{Code: BackendUnasked, Severity: Warning, Farm: g.Farm.Name, Service: g.Name(), Backend: &number,
		Message:  fmt.Sprintf("backend %d (%s) of %s is not checked", number, b.ShownAddress(), g),
		Evidence: "it " + why, Advice: advice})
}

// settings groups the warnings of mgmt/validate by farm: settings without effect, and
// backends whose priority is never reached.
func (l *look) settings(cfg *farm.Config) map[string][]Finding {
	objects := objectsOf(cfg)
	out := map[string][]Finding{}
	for _, w := range l.evidence.Warnings {
		f, known := objects[w.Path]
		if !known {
			continue // a farm that this look omits
		}
		f.Code, f.Severity, f.Field, f.Message = SettingIdle, Warning, w.Field, w.Message
		f.Evidence = "the configuration"
		f.Advice = "change it, or set it back: what it says does not happen"
		switch w.Field {
		case "farmguardian":
			f.Advice = "link a check that asks the backends"
		case "nattype":
			f.Advice = "give the backend another port or address in one of the farms"
		}
		if w.Field == "farmguardian" && unchecked(cfg, f.Farm) {
			f.Code, f.Severity = FarmUnchecked, Info
		}
		if w.Field == "priority" && f.Backend != nil {
			f.Code = BackendUnreachable
			f.Evidence = "the priorities of the backends beside it"
			f.Advice = "give it a lower priority value, or delete it"
		}
		out[f.Farm] = append(out[f.Farm], f)
	}
	return out
}

// unchecked reports whether a kernel farm has no health check.
func unchecked(cfg *farm.Config, name string) bool {
	f := cfg.Farm(name)
	return f != nil && f.InKernel() && f.Own().CheckedBy() == ""
}
