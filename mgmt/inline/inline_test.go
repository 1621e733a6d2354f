package inline_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/inline"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// shop returns a configuration with two farms of two services, and a check of each service.
func shop() *farm.Config {
	cfg := &farm.Config{}
	for _, name := range []string{"shop", "store"} {
		cfg.Farms = append(cfg.Farms, farm.Farm{Name: name, Profile: farm.ProfileHTTP, HTTP: &farm.HTTP{Services: []farm.Service{{Name: "web"}, {Name: "api"}}}})
	}
	for i := range cfg.Farms {
		for _, g := range cfg.Farms[i].Groups() {
			cfg.Checks = append(cfg.Checks, farm.Check{Name: inline.Name(g, 1), Description: inline.Description(g)})
		}
	}
	return cfg
}

func names(cfg *farm.Config) string {
	var out []string
	for _, c := range cfg.Checks {
		out = append(out, c.Name)
	}
	return strings.Join(out, " ")
}

func TestChecksFollowTheNameOfTheirFarm(t *testing.T) {
	cfg := shop()
	f := &cfg.Farms[0]
	f.HTTP.Services[0].Check = "shop_web_fg"
	cfg.Checks = append(cfg.Checks, farm.Check{Name: "mall_api_fg", Description: "somebody's"})
	rename := func() error { f.Name = "mall"; return nil }
	if err := inline.Rename(cfg, f, rename); err != nil || names(cfg) != "mall_web_fg mall_api_fg2 store_web_fg store_api_fg mall_api_fg" {
		t.Errorf("%s, %v", names(cfg), err)
	}
	if f.HTTP.Services[0].Check != "mall_web_fg" || f.HTTP.Services[1].Check != "" {
		t.Errorf("linked are %q and %q", f.HTTP.Services[0].Check, f.HTTP.Services[1].Check)
	}
	before := names(cfg)
	if err := inline.Rename(cfg, f, func() error { f.VPort = 81; return nil }); err != nil || names(cfg) != before {
		t.Errorf("without another name: got %s, %v, want %s", names(cfg), err, before)
	}
	no := errors.New("no")
	if err := inline.Rename(cfg, f, func() error { return no }); !errors.Is(err, no) || names(cfg) != before {
		t.Errorf("refused: %s, %v", names(cfg), err)
	}
	// A check that others have linked belongs to them, too, and keeps its name.
	cfg.Farms[1].HTTP.Services[0].Check = "mall_web_fg"
	if err := inline.Rename(cfg, f, func() error { f.Name = "hall"; return nil }); err != nil || names(cfg) != "mall_web_fg hall_api_fg store_web_fg store_api_fg mall_api_fg" || f.HTTP.Services[0].Check != "mall_web_fg" {
		t.Errorf("%s, %v", names(cfg), err)
	}
}

func TestChecksGoWithTheirGroupUnlessOthersHaveThem(t *testing.T) {
	cfg := shop()
	inline.Forget(cfg)
	if names(cfg) != "shop_web_fg shop_api_fg store_web_fg store_api_fg" {
		t.Error(names(cfg))
	}
	cfg.Checks[1].Description = "mine"
	cfg.Farms[1].HTTP.Services[0].Check = "shop_web_fg"
	cfg.Farms[1].HTTP.Services = cfg.Farms[1].HTTP.Services[:1]
	cfg.Farms = slices.Delete(cfg.Farms, 0, 1)
	if inline.Forget(cfg); names(cfg) != "shop_web_fg shop_api_fg store_web_fg" {
		t.Error(names(cfg))
	}
	cfg.Farms[0].HTTP.Services[0].Check = ""
	if inline.Forget(cfg); names(cfg) != "shop_api_fg store_web_fg" {
		t.Error(names(cfg))
	}
}

// The first check of the list blocks its name as well.
func TestExistingNamesAreNotReused(t *testing.T) {
	cfg := shop()
	cfg.Checks = slices.Insert(cfg.Checks, 0, farm.Check{Name: "mall_web_fg", Description: "somebody's"})
	f := &cfg.Farms[0]
	if err := inline.Rename(cfg, f, func() error { f.Name = "mall"; return nil }); err != nil || names(cfg) != "mall_web_fg mall_web_fg2 mall_api_fg store_web_fg store_api_fg" {
		t.Errorf("%s, %v", names(cfg), err)
	}
}

func TestAnotherDescriptionMakesACheckLikeOthers(t *testing.T) {
	cfg := shop()
	cfg.Checks[0].Description += " (see the wiki)"
	cfg.Checks[1].Description = "Once: " + cfg.Checks[1].Description
	cfg.Farms = cfg.Farms[1:]
	if inline.Forget(cfg); names(cfg) != "shop_web_fg shop_api_fg store_web_fg store_api_fg" {
		t.Error(names(cfg))
	}
}

// Clients identify a check by its name, so the name of a check must not change.
func TestLongNamesAreTheSameForEver(t *testing.T) {
	for service, want := range map[string]string{
		strings.Repeat("s", 56): "shop_" + strings.Repeat("s", 56) + "_fg", // just fits
		strings.Repeat("s", 57): "shop_" + strings.Repeat("s", 39) + "_80046cb9aec61148_fg",
	} {
		g := (&farm.Farm{Name: "shop", Profile: farm.ProfileHTTP, HTTP: &farm.HTTP{Services: []farm.Service{{Name: service}}}}).Groups()[0]
		if got := inline.Name(g, 1); got != want || len(got) != format.MaxName {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func TestNamesFitAndAreUnique(t *testing.T) {
	long := strings.Repeat("x", format.MaxName)
	cfg := &farm.Config{Farms: []farm.Farm{{Name: long, Profile: farm.ProfileHTTP, HTTP: &farm.HTTP{Services: []farm.Service{{Name: "a"}, {Name: "b"}}}}}}
	seen := map[string]bool{}
	for _, g := range cfg.Farms[0].Groups() {
		for n := 1; n < 20; n++ {
			name := inline.Name(g, n)
			if len(name) > format.MaxName || seen[name] {
				t.Errorf("%s (%d bytes)", name, len(name))
			}
			seen[name] = true
		}
	}
}
