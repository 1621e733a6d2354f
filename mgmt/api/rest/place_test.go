package rest_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
)

func TestGroupsAreFoundByFarmAndService(t *testing.T) {
	h := farm.DefaultHTTP()
	h.Services = []farm.Service{{Name: "web"}, {Name: "api"}}
	cfg := &farm.Config{Farms: []farm.Farm{
		{Name: "shop", Profile: farm.ProfileHTTP, HTTP: h}, {Name: "dns", Profile: farm.ProfileL4, L4: farm.DefaultL4()},
	}}
	for _, c := range []struct {
		farm, service, found string
		status               int
	}{
		{"shop", "api", "api", 0}, {"dns", "", "", 0},
		{"shop", "", "", 400}, {"shop", "none", "", 404}, {"none", "api", "", 404}, {"none", "", "", 404}, {"dns", "web", "", 400},
	} {
		g, err := rest.FindGroup(cfg, c.farm, c.service)
		switch {
		case c.status != 0 && (err == nil || rest.RejectionOf(err, false).Status != c.status):
			t.Errorf("%s %s: %v, want status %d", c.farm, c.service, err, c.status)
		case c.status == 0 && (err != nil || g.Farm.Name != c.farm || c.found != "" && g.Name() != c.found):
			t.Errorf("%s %s: found %+v, %v", c.farm, c.service, g, err)
		}
	}
}
