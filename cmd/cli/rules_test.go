package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func (a *appliance) withRules() {
	a.t.Helper()
	a.shop()
	for _, args := range [][]string{
		{"header", "add", "shop", "addrequestheader", "X-Forwarded-Proto: https"}, {"header", "add", "shop", "addheader", "header=X-A: a=b"},
		{"header", "add", "shop", "headremove", "^X-Debug"}, {"header", "add", "shop", "replacerequestheader", "^Referer$", "^(.*)$", "$1"},
		{"header", "add", "shop", "replacerequestheader", "match=b", "header=^User-Agent$", "replace="}, {"header", "add", "shop", "removeresponseheader", "pattern=^Server:"},
		{"header", "add", "shop", "replaceresponseheader", "^Set-Cookie$", "$", "; Secure", "--service", "web"}, {"header", "add", "shop", "addresponseheader", "X-B: 1", "--service=web"},
		{"rewrite", "add", "shop", "web", "^/old/(.*)", "/new/$1"}, {"rewrite", "add", "shop", "web", "^/shop", "", "last=true"},
	} {
		if out := a.must(args...); !strings.HasPrefix(out, "The rule ") {
			a.t.Errorf("the output of %v is %q", args, out)
		}
	}
}

func TestRulesAreListedForPeople(t *testing.T) {
	a := start(t)
	a.withRules()
	for name, command := range map[string]string{"header_list_shop": "header list shop", "header_list_shop_web": "header list shop --service web", "rewrite_list_shop_web": "rewrite list shop web"} {
		golden(t, name, a.must(strings.Fields(command)...))
	}
	for command, lists := range map[string]string{"header list shop": "addheader", "header list shop --service web": "addrequestheader", "rewrite list shop web": "rewriteurl"} {
		var body struct{ Params map[string][]map[string]any }
		if err := json.Unmarshal([]byte(a.must(append(strings.Fields(command), "--json")...)), &body); err != nil || body.Params[lists] == nil {
			t.Errorf("%s --json: %v %v", command, err, body)
		}
	}
}

func TestRuleCommandsDoWhatTheySay(t *testing.T) {
	a := start(t)
	a.withRules()
	for _, c := range []struct {
		command []string
		shows   string
		want    string
	}{
		{[]string{"header", "set", "shop", "addrequestheader", "0", "X-C: 2"}, "header list shop", "X-C: 2"},
		{[]string{"header", "set", "shop", "replacerequestheader", "0", "replace=<$1>"}, "header list shop", "^(.*)$  <$1>"},
		{[]string{"header", "move", "shop", "replacerequestheader", "1", "0"}, "header list shop", "replacerequestheader   0  ^User-Agent$"},
		{[]string{"header", "delete", "shop", "addheader", "0"}, "header list shop", "addheader              0  X-A: a=b"},
		{[]string{"header", "delete", "shop", "addresponseheader", "0", "--service", "web"}, "header list shop --service web", "replaceresponseheader"},
		{[]string{"rewrite", "set", "shop", "web", "0", "last=true"}, "rewrite list shop web", "/new/$1  true"},
		{[]string{"rewrite", "move", "shop", "web", "1", "0"}, "rewrite list shop web", "0  ^/shop"},
		{[]string{"rewrite", "delete", "shop", "web", "0"}, "rewrite list shop web", "0  ^/old"},
	} {
		a.must(c.command...)
		if out := a.must(strings.Fields(c.shows)...); !strings.Contains(out, c.want) {
			t.Errorf("after %v, %q does not show %q:\n%s", c.command, c.shows, c.want, out)
		}
	}
}

func TestRuleCommandsTellRefusedFromWrongUsage(t *testing.T) {
	a := start(t)
	a.withRules()
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"header", "add", "shop", "addrequesthead", "X: y"}, 2, `did you mean "addrequestheader"`},
		{[]string{"header", "add", "shop", "cookies", "X: y"}, 2, "allowed are addrequestheader"},
		{[]string{"header", "add", "shop", "addrequestheader", "X: y", "Z: z"}, 2, "unexpected value \"Z: z\": a rule of this kind has header"},
		{[]string{"header", "add", "shop", "addrequestheader", "header=X: y", "header=X: y"}, 2, "header is given twice"},
		{[]string{"header", "add", "shop", "addrequestheader"}, 2, "usage: sluice header create FARM KIND VALUE"},
		{[]string{"header", "move", "shop", "addrequestheader", "1", "0"}, 2, "the order of addheader rules has no effect"},
		{[]string{"header", "add", "shop", "replacerequestheader", "^Referer$"}, 1, "match is required"},
		{[]string{"header", "add", "shop", "addrequestheader", "Content-Length: 5"}, 1, "frames the message"},
		{[]string{"header", "add", "none", "addrequestheader", "X: y"}, 1, "none"},
		{[]string{"header", "add", "shop", "addrequestheader", "X: y", "--service", "none"}, 1, "none"},
		{[]string{"header", "delete", "shop", "addheader", "9"}, 1, "the rule 9 does not exist"},
		{[]string{"header", "list", "none"}, 1, "none"},
		{[]string{"rewrite", "add", "shop", "web", "(", "x"}, 1, "PATTERN must"},
		{[]string{"rewrite", "add", "shop", "web", "x"}, 2, "usage: sluice rewrite create FARM SERVICE PATTERN REPLACE"},
		{[]string{"rewrite", "move", "shop", "web", "0", "9"}, 1, "0 to 1"},
	} {
		r := a.run(c.args...)
		if r.code != c.code || !strings.Contains(r.stderr, c.says) {
			t.Errorf("%v: exit %d, want %d saying %q\n%s%s", c.args, r.code, c.code, c.says, r.stdout, r.stderr)
		}
	}
}
