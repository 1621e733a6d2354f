package lint

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/lint/language"
)

// Grace is the minimum time without requests for a warning, as new services may still wait
// for clients.
const Grace = 7 * 24 * time.Hour

// services examines the services of a farm: whether they can be reached, and whether they
// were.
func (l *look) services(f *farm.Farm) {
	shadowed := l.routes(f)
	list := f.Services()
	redirecting := 0
	for i := range list {
		s := &list[i]
		l.unanchored(f, s)
		switch {
		case s.Redirect != "":
			redirecting++
			l.redirected(f, s)
		case s.DNSFarm != "": // that farm counts the queries
		case len(s.Backends) == 0:
			l.add(Finding{Code: ServiceEmpty, Severity: Warning, Farm: f.Name, Service: s.Name,
				Message:  fmt.Sprintf("service %s has no backends: what it takes is answered 503", s.Name),
				Evidence: "neither backends nor a redirect",
				Advice:   fmt.Sprintf("add a backend (sluice backend create %s %s ADDRESS), set redirect, or delete the service", f.Name, s.Name)})
		case !f.Stopped && !shadowed[i]:
			l.neverHit(f.GroupOf(s))
			l.logins(f, s)
		}
	}
	if !f.Stopped && redirecting > 0 {
		l.redirects(f, redirecting, shadowed)
	}
}

// redirected reports backends without requests because their service redirects.
func (l *look) redirected(f *farm.Farm, s *farm.Service) {
	backends := 0
	for i := range s.Backends {
		if s.Backends[i].Of == 0 { // addresses of a name do not count as backends
			backends++
		}
	}
	if backends == 0 {
		return
	}
	l.add(Finding{Code: BackendsUnused, Severity: Warning, Farm: f.Name, Service: s.Name, Field: "redirect",
		Message:  fmt.Sprintf("the backends of service %s get no request: it redirects all clients", s.Name),
		Evidence: fmt.Sprintf("%d backends, redirect %s", backends, s.Redirect),
		Advice:   fmt.Sprintf("delete the backends, or end the redirect (sluice service set %s %s redirect=)", f.Name, s.Name)})
}

// unanchored reports a host pattern that also matches longer hosts, which is rarely
// intended, as these often belong to other domains.
func (l *look) unanchored(f *farm.Farm, s *farm.Service) {
	if s.VHost == "" || farm.IsHostName(s.VHost) || strings.HasSuffix(s.VHost, ".*") || strings.HasSuffix(s.VHost, ".+") {
		return
	}
	all, err := regexp.Compile("(?i)^(?:" + s.VHost + ")")
	answer, name := l.compare.common(expression{host, s.VHost}, expression{host, ""})
	longer := name + ".example.net"
	if err != nil || answer != language.Yes || !all.MatchString(longer) {
		return
	}
	l.add(Finding{Code: HostUnanchored, Severity: Warning, Farm: f.Name, Service: s.Name, Field: "vhost",
		Message:  fmt.Sprintf("vhost %s of service %s also matches longer hosts, e.g. %s", s.VHost, s.Name, longer),
		Evidence: "its pattern does not end with $",
		Advice:   fmt.Sprintf("add $ (sluice service set %s %s vhost=%s), or .* if that is meant", f.Name, s.Name, shellWord(s.VHost+"$"))})
}

// neverHit reports backends that got no request. If all of them are unusable, requests could
// not have reached them, which is another finding.
func (l *look) neverHit(g farm.Group) {
	var ids []uint32
	usable := false
	list := g.Backends()
	for i := range list {
		n, known := l.evidence.Hits(g.Farm, list[i].ID)
		if n > 0 || !known {
			return
		}
		ids = append(ids, list[i].ID)
		status := l.evidence.Status(g, i)
		usable = usable || status == farm.StatusUp || status == farm.StatusUndefined
	}
	record := l.evidence.Recorded(g.Farm, ids)
	if !usable || record.Hit {
		return
	}
	l.add(l.never(g.Farm.Name, g.Name(), "0 requests sent to its backends", record.Since))
}

func (l *look) never(farmName, service, evidence string, since time.Time) Finding {
	f := Finding{Code: ServiceNeverHit, Severity: Info, Farm: farmName, Service: service,
		Message:  fmt.Sprintf("no request was ever sent on by service %s", service),
		Evidence: evidence + " since counting began",
		Advice:   fmt.Sprintf("look whether clients still need it (sluice explain %s PATH); delete it if not", farmName)}
	if since.IsZero() {
		return f
	}
	since = since.UTC()
	f.Since, f.Evidence = &since, fmt.Sprintf("%s since %s", evidence, since.Format(time.RFC3339))
	if l.evidence.Now.Sub(since) >= Grace {
		f.Severity = Warning
	} else {
		f.Advice = fmt.Sprintf("nothing yet: it is watched for less than %d days", int(Grace.Hours())/24)
	}
	return f
}

// redirects reports unused services that redirect; a farm counts them together.
func (l *look) redirects(f *farm.Farm, redirecting int, shadowed map[int]bool) {
	n := l.evidence.Redirects(f)
	list := f.Services()
	for i := range list {
		s := &list[i]
		switch {
		case s.Redirect == "" || shadowed[i] || n > 0 && redirecting == 1:
		case n == 0:
			hit := l.never(f.Name, s.Name, "0 redirects of the farm", time.Time{})
			hit.Message = fmt.Sprintf("service %s never redirected a client", s.Name)
			l.add(hit)
		default:
			l.add(Finding{Code: ServiceHitsUnknown, Severity: Info, Farm: f.Name, Service: s.Name,
				Message:  fmt.Sprintf("whether service %s was ever hit is unknown: services that redirect are counted together", s.Name),
				Evidence: fmt.Sprintf("%d redirects by %d services", n, redirecting),
				Advice:   fmt.Sprintf("watch it for a while: sluice trace %s", f.Name)})
		}
	}
}
