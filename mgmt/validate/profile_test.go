package validate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

// profileWords lists the names of profiles in bodies.
var profileWords = func() (out string) {
	for _, p := range farm.Profiles() {
		out += string(p) + ", "
	}
	return out + string(farm.ProfileHTTPS)
}()

func TestProfileHTTPSIsProfileHTTPWithItsListener(t *testing.T) {
	t.Parallel()
	const create = `{"farmname":"a","vip":"127.0.0.1","vport":443,"profile":"https"`
	for body, refused := range map[string]string{
		create + `}`:                        "",
		create + `,"listener":"https"}`:     "",
		create + `,"strict_host":true}`:     "",
		create + `,"listener":"http"}`:      "profile https contradicts listener http",
		create[:len(create)-7] + `"HTTPS"}`: "profile must be one of " + profileWords,
		create[:len(create)-7] + `"http"}`:  "-",
	} {
		var f farm.Farm
		err := validatetest.Apply(t, &httpfarm.Create, body, &f)
		switch {
		case refused == "-":
			if err != nil || f.HTTPS() {
				t.Errorf("%s: %v, https %v", body, err, f.HTTPS())
			}
		case refused == "" && (err != nil || !f.HTTPS() || f.Profile != farm.ProfileHTTP):
			t.Errorf("%s: %v, %+v", body, err, f)
		case refused != "" && (err == nil || !strings.Contains(err.Error(), refused)):
			t.Errorf("%s: %v, want %s", body, err, refused)
		}
	}
	had := farm.Farm{Profile: farm.ProfileHTTP, HTTP: farm.DefaultHTTP()}
	had.HTTP.TLS = farm.DefaultTLS()
	had.HTTP.TLS.DisableHTTP2 = true
	if err := validatetest.Apply(t, &httpfarm.Create, create+`}`, &had); err != nil || !had.HTTP.TLS.DisableHTTP2 {
		t.Errorf("a copy of an https farm: %v, %+v", err, had.HTTP.TLS)
	}
	l4 := farm.Farm{Profile: farm.ProfileL4, L4: farm.DefaultL4()}
	if err := validatetest.Apply(t, &httpfarm.Create, create+`}`, &l4); err == nil || !strings.Contains(err.Error(), "must be l4xnat") {
		t.Errorf("a copy of an l4xnat farm: %v", err)
	}
}

// Each farm profile has its rules, in the same order, and methods use the rules of the
// farm's profile.
func TestEveryProfileHasItsRules(t *testing.T) {
	var names []farm.Profile
	for _, p := range profile.All() {
		names = append(names, p.Name())
		if profile.Named(p.Name()) != p {
			t.Errorf("%s: its name leads to another profile", p.Name())
		}
		for _, table := range []*field.Table[farm.Farm]{p.Farm().Create, p.Farm().Update, p.Farm().Document} {
			if len(table.Names()) == 0 {
				t.Errorf("%s: a body without fields", p.Name())
			}
		}
		for _, table := range []*field.Table[farm.Backend]{p.Backend().Create, p.Backend().Update, p.Backend().Document} {
			if len(table.Names()) == 0 {
				t.Errorf("%s: a body of a backend without fields", p.Name())
			}
		}
	}
	if !slices.Equal(names, farm.Profiles()) {
		t.Errorf("rules for %q, profiles are %q", names, farm.Profiles())
	}
	l4 := farm.Farm{Profile: farm.ProfileHTTP, L4: farm.DefaultL4()}
	if profile.Of(&l4).Name() != farm.ProfileL4 ||
		profile.Of(&farm.Farm{Profile: farm.ProfileL4}).Name() != farm.ProfileL4 {
		t.Error("the settings do not give the profile")
	}
	if profile.Named(farm.ProfileHTTPS).Name() != farm.ProfileHTTP {
		t.Error("https is not http")
	}
}
