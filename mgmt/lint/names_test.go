package lint_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/lint"
)

func TestHostsThatNoCertificateCoversAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		vhost         string
		names, before []string
		stopped       bool
		own           bool   // the certificate is the appliance's own
		unknown       bool   // the farm has a certificate with unknown names
		want          string // the service, the names and the remedy; "" for none
	}{
		"covered":                       {vhost: "www.example.com", names: []string{"*.example.com"}},
		"not covered":                   {vhost: "www.example.com", names: []string{"example.com"}, want: "www.example.com"},
		"escaped, with a port":          {vhost: `www\.example\.com:8443`, names: []string{"example.com"}, want: "www.example.com"},
		"any host":                      {names: []string{"example.com"}},
		"an expression":                 {vhost: `(a|b)\.test$`, names: []string{"example.com"}},
		"any host, lost":                {names: []string{"b.test"}, before: []string{"a.test", "b.test"}, want: "a.test restore"},
		"an expression, lost":           {vhost: `(a|b)\.test$`, names: []string{"b.test"}, before: []string{"a.test"}, want: "a.test restore"},
		"another expression, lost":      {vhost: `c\.test$`, names: []string{"b.test"}, before: []string{"a.test"}},
		"one host, lost, reported once": {vhost: "a.test", names: []string{"b.test"}, before: []string{"a.test"}, want: "a.test restore"},
		"a stopped farm":                {vhost: "a.test", names: []string{"b.test"}, stopped: true},
		"the appliance's":               {vhost: "a.test", names: []string{"b.test"}, own: true},
		"another certificate":           {vhost: "a.test", names: []string{"b.test"}, unknown: true},
	} {
		cfg, e := shop(farm.Service{Name: "web", VHost: c.vhost, Backends: []farm.Backend{{ID: 1}}}), cleanEvidence()
		cfg.Farms[0].Stopped = c.stopped
		cfg.Farms[0].HTTP.TLS = &farm.TLS{Certificates: []string{"c.pem"}}
		if c.unknown {
			cfg.Farms[0].HTTP.TLS.Certificates = append(cfg.Farms[0].HTTP.TLS.Certificates, "other.pem")
		}
		e.Certificates = []lint.Certificate{{Name: "c.pem", Names: c.names, Before: c.before, Replaced: now.Add(-time.Hour), KeyType: "Ed25519", Appliance: c.own, Running: true, NotAfter: now.Add(99 * 24 * time.Hour)}}
		found := slices.DeleteFunc(lint.Look(cfg, e), func(f lint.Finding) bool { return f.Code != lint.CertificateNameMissing })
		if c.want == "" {
			if len(found) > 0 {
				t.Errorf("%s: %+v", name, found)
			}
			continue
		}
		host, restore, _ := strings.Cut(c.want, " ")
		if len(found) != 1 || found[0].Service != "web" || found[0].Severity != lint.Warning || !strings.Contains(found[0].Message, host) || !strings.Contains(found[0].Evidence, "c.pem covers") ||
			strings.Contains(found[0].Advice, "certificate restore c.pem") != (restore != "") || (found[0].Since != nil) != (restore != "") {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
