package validate_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// credentials returns a configuration with a credential, which contains s3cr3t, in every
// possible place.
func credentials() *farm.Config {
	rules := farm.HeaderRules{
		AddRequest: []farm.HeaderAdd{{Header: "Authorization: Basic s3cr3t"}, {Header: "X-API-Key: s3cr3t"}, {Header: "X-Plain: value"}, {Header: "X-Odd: Bearer s3cr3t"},
			{Header: "X-Odd: https://ann:s3cr3t@db.example/"}, {Header: "X-Odd: user=ann; password=s3cr3t"}, {Header: "X-Odd: s3cr3t-0123456789abcdef"}, {Header: "X-OTP: s3cr3t"}, {Header: "X-Odd: eyJs3cr3tOiJIUzI1NiJ9.e30.x"}},
		AddResponse:     []farm.HeaderAdd{{Header: "Set-Cookie: id=s3cr3t"}},
		RemoveRequest:   []farm.HeaderRemove{{Pattern: "^X-Token: s3cr3t"}, {Pattern: "^Cookie:.*"}},
		ReplaceRequest:  []farm.HeaderReplace{{Header: "^Private-Token$", Match: "s3cr3t", Replace: "s3cr3t"}, {Header: "^User-Agent$", Match: "a", Replace: "b"}},
		ReplaceResponse: []farm.HeaderReplace{{Header: "Cookie", Match: "^(.*)$", Replace: "s3cr3t"}},
	}
	return &farm.Config{
		Checks: []farm.Check{{Name: "a", Command: `check_tcp -H HOST -p PORT -s "auth s3cr3t" -e ok`}, {Name: "b", Command: "check_http -I HOST -k 'X-Key: s3cr3t' -P s3cr3t"}, {Name: "c", Command: "check_tcp -H HOST -ss3cr3t"},
			{Name: "d", Command: `check_tcp -H HOST -E -s "auth s3cr3t\r\n" -q s3cr3t`}, {Name: "e", Command: "check_tcp -Es s3cr3t --quit=s3cr3t"}, {Name: "f", Command: "check_http -I HOST -u '/alive?a=1&token=s3cr3t'"}, {Name: "g", Command: "check_http --url=/alive?apikey=s3cr3t"}},
		Farms: []farm.Farm{{Name: "shop", ID: 1, Profile: farm.ProfileHTTP, HTTP: &farm.HTTP{HeaderRules: rules, Services: []farm.Service{{
			Name: "web", HeaderRules: rules, HeadRequire: []string{"^X-Auth-Token: s3cr3t$", "^Accept: json"}, HeadDeny: []string{"Authorization: s3cr3t"},
			Rewrites: []farm.URLRewrite{{Pattern: "^/a", Replace: "/b?token=s3cr3t&x=1"}},
		}}}}},
	}
}

func TestAVeilHidesCredentialsAndNothingElse(t *testing.T) {
	cfg := credentials()
	before := string(document.Shown(cfg))
	all := validate.Veil{Headers: true, Checks: true}
	shown := string(document.Shown(all.Apply(cfg)))
	if strings.Contains(shown, "s3cr3t") {
		t.Errorf("shown:\n%s", shown)
	}
	for _, plain := range []string{"X-Plain: value", "^Cookie:.*", "^Accept: json", "^User-Agent$", "check_tcp -H HOST -p PORT -s *** -e ok", "Authorization: ***", "/b?token=***&x=1", "X-Odd: https://ann:***@db.example/", "user=ann; password=***", "/alive?a=1&token=***"} {
		if !strings.Contains(shown, plain) {
			t.Errorf("%q is hidden, too:\n%s", plain, shown)
		}
	}
	if string(document.Shown(cfg)) != before {
		t.Error("the configuration itself was changed")
	}
	if got := all.Diff(document.Diff(&farm.Config{}, cfg)); strings.Contains(got, "s3cr3t") || !strings.Contains(got, "X-Plain: value") {
		t.Errorf("a difference shows\n%s", got)
	}
	if (validate.Veil{}).Apply(cfg) != cfg || (validate.Veil{}).Diff("Cookie: s3cr3t") != "Cookie: s3cr3t" {
		t.Error("without a veil something is hidden")
	}
	some := validate.Veil{Headers: true}.Apply(cfg)
	if some.Checks[0].Command != cfg.Checks[0].Command || some.Farms[0].HTTP.AddRequest[0].Header != "Authorization: ***" {
		t.Errorf("%+v", some.Checks)
	}
	none := &farm.Config{Farms: []farm.Farm{{Name: "x", HTTP: &farm.HTTP{}}}}
	if all.Apply(none) != none {
		t.Error("a configuration without secrets is copied")
	}
}
