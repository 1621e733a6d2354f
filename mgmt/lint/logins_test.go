package lint_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/lint"
)

func TestLoginsOfConnectionsAreReportedWhereHTTP2IsSpoken(t *testing.T) {
	for name, c := range map[string]struct {
		asked    uint64
		edit     func(f *farm.Farm)
		severity lint.Severity // "": no finding
		field    string
	}{
		"clients of HTTP/2":          {3, func(f *farm.Farm) { f.HTTP.TLS = &farm.TLS{} }, lint.Info, "disable_http2"},
		"clients of HTTP/1.1 only":   {3, func(f *farm.Farm) { f.HTTP.TLS = &farm.TLS{DisableHTTP2: true} }, "", ""},
		"no TLS":                     {3, func(*farm.Farm) {}, "", ""},
		"backends of HTTP/2":         {3, func(f *farm.Farm) { f.HTTP.Services[0].BackendProtocol = farm.BackendHTTP2 }, lint.Warning, "backendprotocol"},
		"backends that ask for none": {0, func(f *farm.Farm) { f.HTTP.TLS = &farm.TLS{} }, "", ""},
		"a farm that is stopped":     {3, func(f *farm.Farm) { f.HTTP.TLS, f.Stopped = &farm.TLS{}, true }, "", ""},
		"HTTP/2 to clients, and behind": {3, func(f *farm.Farm) {
			f.HTTP.TLS, f.HTTP.Services[0].BackendProtocol = &farm.TLS{}, farm.BackendHTTP2
		}, lint.Warning, "backendprotocol"},
	} {
		cfg := shop(farm.Service{Name: "web"})
		c.edit(&cfg.Farms[0])
		e := cleanEvidence()
		e.Logins = func(id uint32) uint64 {
			if id != 10 {
				t.Errorf("%s: query for backend %d, want 10", name, id)
			}
			return c.asked
		}
		var got []lint.Finding
		for _, f := range lint.Look(cfg, e) {
			if f.Code == lint.ConnectionLogin {
				got = append(got, f)
			}
		}
		if c.severity == "" && len(got) == 0 {
			continue
		}
		if len(got) != 1 || got[0].Severity != c.severity || got[0].Field != c.field || got[0].Service != "web" || !strings.HasPrefix(got[0].Evidence, "3 responses") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
