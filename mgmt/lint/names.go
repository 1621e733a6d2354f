package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/coverage"
)

// names reports hosts of services that no certificate of their farm covers, and names lost
// when a certificate of the farm was replaced.
func (l *look) names(f *farm.Farm) {
	t := f.ListenerTLS()
	if f.Stopped || t == nil || len(t.Certificates) == 0 {
		return
	}
	var all []Certificate
	var names []string
	for _, name := range t.Certificates {
		at := slices.IndexFunc(l.evidence.Certificates, func(c Certificate) bool { return c.Name == name })
		if at < 0 || l.evidence.Certificates[at].Appliance {
			return // its names are unknown, or clients warn anyway
		}
		all = append(all, l.evidence.Certificates[at])
		names = append(names, l.evidence.Certificates[at].Names...)
	}
	is := coverage.New(names...)
	services := f.Services()
	for i := range services {
		if host, one := coverage.Host(&services[i]); one && !is.Covers(host) {
			l.uncovered(f, services[i].Name, []string{host}, all)
		}
	}
	for _, c := range all {
		for _, use := range coverage.Losing(f, coverage.New(append(slices.Clone(names), c.Before...)...), is, c.Before) {
			if at := slices.IndexFunc(services, func(s farm.Service) bool { return s.Name == use.Service }); at >= 0 {
				if _, one := coverage.Host(&services[at]); one {
					continue // already reported
				}
			}
			l.uncovered(f, use.Service, use.Names, all)
		}
	}
}

// uncovered reports uncovered names of a service, or of a farm without services.
func (l *look) uncovered(f *farm.Farm, service string, names []string, certificates []Certificate) {
	of := Finding{Code: CertificateNameMissing, Severity: Warning, Farm: f.Name, Service: service}
	what := "farm " + f.Name
	if service != "" {
		of.Field, what = "vhost", fmt.Sprintf("service %s of farm %s", service, f.Name)
	}
	list := firstOf(names)
	of.Message = fmt.Sprintf("no certificate of the farm covers %s: clients of %s are warned or refuse to connect", list, what)
	var covered []string
	for _, c := range certificates {
		covered = append(covered, fmt.Sprintf("%s covers %s", c.Name, firstOf(c.Names)))
	}
	of.Evidence = strings.Join(covered, "; ")
	of.Advice = fmt.Sprintf("add a certificate that covers it: sluice certificate add %s NAME", f.Name)
	for _, c := range certificates {
		if coverage.New(c.Before...).Covers(names[0]) {
			since := c.Replaced.UTC()
			of.Since, of.Certificate = &since, c.Name
			of.Evidence += fmt.Sprintf("; %s covered it until it was replaced", c.Name)
			of.Advice += fmt.Sprintf("; or put the old one back: sluice certificate restore %s", c.Name)
			break
		}
	}
	l.add(of)
}
