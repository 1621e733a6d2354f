package event_test

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/event"
)

func TestBackendHealthAffectsServingFarmsOnly(t *testing.T) {
	down := func(uint32) farm.Status { return farm.StatusDown }
	for name, c := range map[string]struct {
		change func(f *farm.Farm, s *farm.Service)
		down   bool
		is     bool
	}{
		"as it is":       {func(*farm.Farm, *farm.Service) {}, true, true},
		"a stopped farm": {func(f *farm.Farm, _ *farm.Service) { f.Stopped = true }, false, false},
		"a redirect":     {func(_ *farm.Farm, s *farm.Service) { s.Redirect = "https://x" }, false, false},
		"left its name":  {func(_ *farm.Farm, s *farm.Service) { s.Backends[0].Left, s.Backends[0].Of = true, 9 }, false, false},
		"several": {func(_ *farm.Farm, s *farm.Service) {
			s.Backends[0].Resolve, s.Backends[1].Of = farm.ResolveAll, 1
		}, false, false},
		"several, none of them known": {func(_ *farm.Farm, s *farm.Service) {
			s.Backends[0].Resolve = farm.ResolveAll
			s.Backends[0].Host, s.Backends[0].Addr = "db.example", netip.Addr{}
		}, true, true},
		"maintenance": {func(_ *farm.Farm, s *farm.Service) { s.Backends[0].Maintenance = farm.MaintenanceDrain }, false, false},
	} {
		f := web(1, "shop", false, backend(1, "10.0.0.1"), backend(2, "10.0.0.2"))
		c.change(&f, &f.HTTP.Services[0])
		if got, is := event.BackendIsDown(f.Groups()[0], 0, event.Known{Health: down}); got != c.down || is != c.is {
			t.Errorf("%s: down %v, which means something: %v", name, got, is)
		}
	}
	f := web(1, "shop", false, backend(1, "10.0.0.1"))
	unknown := event.Known{Health: func(uint32) farm.Status { return farm.StatusUndefined }}
	if down, is := event.BackendIsDown(f.Groups()[0], 0, unknown); down || !is {
		t.Error("a backend of unknown state is down, or without a meaning")
	}
}

func TestAFarmThatOnlyRedirectsHasAStatus(t *testing.T) {
	known := event.Known{Farm: func(*farm.Farm) (farm.Status, string) { return farm.StatusUp, "" }}
	f := web(1, "shop", false)
	if _, _, is := event.FarmStatusOf(&f, farm.StatusUp, known); is {
		t.Error("a new farm has a status")
	}
	f.HTTP.Services[0].Redirect = "https://x"
	if status, _, is := event.FarmStatusOf(&f, farm.StatusUp, known); !is || status != farm.StatusUp {
		t.Error("a redirecting farm has no status")
	}
}

func TestBackendsAreNamedByAddressAndPort(t *testing.T) {
	for want, facts := range map[string][]string{
		"10.0.0.1:80":      event.Facts("BACKEND", "10.0.0.1", "BACKEND_PORT", "80"),
		"[2001:db8::1]:80": event.Facts("BACKEND", "2001:db8::1", "BACKEND_PORT", "80"),
		"10.0.0.1":         event.Facts("BACKEND", "10.0.0.1", "BACKEND_PORT", "0"),
		"db.example":       event.Facts("BACKEND", "db.example"),
		"":                 event.Facts("BACKEND_PORT", "80"),
	} {
		if got := (&event.Event{Kind: event.BackendDown, Facts: facts}).Shown().Backend; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	full := event.Event{Kind: event.LimitReached, Facts: event.Facts("FARM", "shop", "SERVICE", "web", "BACKEND", "10.0.0.1", "BACKEND_PORT", "80", "NUMBER", "2", "LIMIT", "connection_limit", "USED", "3", "MOST", "3", "REFUSED", "0")}
	if got := full.Text(); got != "the limit of connections (connection_limit) of backend 2 (10.0.0.1:80) of service web of farm shop is reached: 3 of 3" {
		t.Error(got)
	}
}
