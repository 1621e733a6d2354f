package httpfarm_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

func TestAnnouncementIsSetShownAndReset(t *testing.T) {
	for body, want := range map[string]struct {
		out   farm.ProxyOut
		shown string
	}{
		`{"proxyprotocol_out":"v2"}`:  {farm.ProxyOutV2, `"v2"`},
		`{"proxyprotocol_out":"off"}`: {"", `"off"`},
		`{"proxyprotocol_out":null}`:  {"", `null`},
	} {
		s := farm.Service{Name: "web", ProxyOut: farm.ProxyOutV1}
		v, err := validatetest.Change(t, &httpfarm.ServiceUpdate, &s, body)
		if err != nil || s.ProxyOut != want.out || validatetest.Sent(v, "proxyprotocol_out") != want.shown {
			t.Errorf("%s: %v, %q, %s", body, err, s.ProxyOut, validatetest.Sent(v, "proxyprotocol_out"))
		}
	}
	s := farm.Service{Name: "web", BackendProtocol: farm.BackendHTTP2, ProxyOut: farm.ProxyOutV1}
	f := farm.Farm{Name: "a", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("192.0.2.9"), VPort: 80, HTTP: farm.DefaultHTTP()}
	f.HTTP.Services = []farm.Service{s}
	if err := validate.Config(&farm.Config{Farms: []farm.Farm{f}}); err == nil || !strings.Contains(err.Error(), "proxyprotocol_out must be off with backendprotocol h2") {
		t.Errorf("clients that share connections are announced: %v", err)
	}
	if _, err := validatetest.Change(t, &httpfarm.ServiceUpdate, &s, `{"proxyprotocol_out":"v3"}`); err == nil {
		t.Error("v3 is accepted")
	}
}
