package validate_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// Applying a displayed configuration unchanged keeps its credentials.
func TestMaskedCredentialsAreKept(t *testing.T) {
	old := credentials()
	cfg := validate.Veil{Headers: true, Checks: true}.Apply(credentials())
	cfg.Farms[0].HTTP.Services[0].HeadRequire[1] = "^Accept: text"
	if err := validate.Unveil(old, cfg); err != nil {
		t.Fatal(err)
	}
	want := credentials()
	want.Farms[0].HTTP.Services[0].HeadRequire[1] = "^Accept: text"
	if got := string(document.Shown(cfg)); got != string(document.Shown(want)) {
		t.Errorf("got\n%s", got)
	}
}

// A mask of an unknown or ambiguous credential is rejected.
func TestAHiddenCredentialThatIsNotKnownIsRefused(t *testing.T) {
	service := func(cfg *farm.Config) *farm.Service { return &cfg.Farms[0].HTTP.Services[0] }
	for what, edit := range map[string]func(*farm.Config){
		"another header": func(cfg *farm.Config) { service(cfg).AddRequest[0].Header = "X-Other-Token: ***" },
		"another list": func(cfg *farm.Config) {
			service(cfg).AddResponse = []farm.HeaderAdd{{Header: "Authorization: Basic ***"}}
		},
		"a regex":         func(cfg *farm.Config) { service(cfg).HeadRequire[1] = "^Accept: ***" },
		"a new farm":      func(cfg *farm.Config) { cfg.Farms[0].ID = 0 },
		"another command": func(cfg *farm.Config) { cfg.Checks[0].Command = "check_tcp -H 192.0.2.1 -p PORT -s ***" },
		"another check":   func(cfg *farm.Config) { cfg.Checks[0].Name = "new" },
		"one of several":  func(cfg *farm.Config) { service(cfg).AddRequest = []farm.HeaderAdd{{Header: "Cookie: ***"}} },
	} {
		old, cfg := credentials(), validate.Veil{Headers: true, Checks: true}.Apply(credentials())
		service(old).AddRequest = append(service(old).AddRequest, farm.HeaderAdd{Header: "Cookie: a"}, farm.HeaderAdd{Header: "Cookie: b"})
		edit(cfg)
		if err := validate.Unveil(old, cfg); err == nil || !strings.Contains(err.Error(), "***") {
			t.Errorf("%s: %v", what, err)
		}
	}
	// Other texts with asterisks are not treated as masks.
	cfg := credentials()
	service(cfg).AddRequest = append(service(cfg).AddRequest, farm.HeaderAdd{Header: "X-Stars: ***"})
	cfg.Checks = append(cfg.Checks, farm.Check{Name: "stars", Command: "check_tcp -H HOST -p PORT -e '***'"})
	if err := validate.Unveil(credentials(), cfg); err != nil || !strings.Contains(string(document.Shown(cfg)), "X-Stars: ***") {
		t.Errorf("%v", err)
	}
}
