package httpfarm_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

func TestAHeaderLineIsKeptInItsNormalForm(t *testing.T) {
	for text, want := range map[string]string{
		"X-A: 1": "X-A: 1", "X-A:1": "X-A: 1", "X-A:\t 1  2 \t": "X-A: 1  2", "X-A:": "X-A: ", "Set-Cookie: a=b; Path=/": "Set-Cookie: a=b; Path=/", "X-Host: a": "X-Host: a",
		"Strict-Transport-Security: max-age=1": "Strict-Transport-Security: max-age=1", "X-Ü: ": "", "X-Name: Jürgen": "X-Name: Jürgen",
	} {
		var h farm.HeaderAdd
		_, err := validatetest.Change(t, &httpfarm.AddRequest.Rule, &h, `{"header":`+fmt.Sprintf("%q", text)+`}`)
		if (err == nil) != (want != "") || h.Header != want {
			t.Errorf("%q: %q %v", text, h.Header, err)
		}
	}
}

func TestARuleThatCannotWorkIsRefusedWithTheReason(t *testing.T) {
	for _, c := range []struct {
		table any
		body  string
		want  string
	}{
		{&httpfarm.AddRequest.Rule, `{"header":"X-A"}`, `header must be a header as "Name: value", got "X-A": the colon is missing`},
		{&httpfarm.AddRequest.Rule, `{"header":": x"}`, `"" is no field name`},
		{&httpfarm.AddRequest.Rule, `{"header":"X A: x"}`, `"X A" is no field name`},
		{&httpfarm.AddRequest.Rule, `{"header":"X-A : x"}`, `"X-A " is no field name`},
		{&httpfarm.AddRequest.Rule, `{"header":"X-A: x\nX-B: y"}`, `it holds a line feed or another control character`},
		{&httpfarm.AddRequest.Rule, `{"header":"X-A: x\r"}`, `it holds a line feed`},
		{&httpfarm.AddRequest.Rule, `{"header":"X-A: \u0000"}`, `it holds a line feed or another control character`},
		{&httpfarm.AddRequest.Rule, `{"header":""}`, `header must be a header as "Name: value", got ""`},
		{&httpfarm.AddRequest.Rule, `{}`, `header is required`},
		{&httpfarm.AddRequest.Rule, `{"header":"X-A: ` + strings.Repeat("x", 4096) + `"}`, `header must be at most 4096 bytes long`},
		{&httpfarm.AddRequest.Rule, `{"header":"content-length: 5"}`, `Content-Length cannot be changed by rules: it frames the message`},
		{&httpfarm.AddResponse.Rule, `{"header":"Transfer-Encoding: chunked"}`, `Transfer-Encoding cannot be changed by rules`},
		{&httpfarm.AddRequest.Rule, `{"header":"Content_Length: 5"}`, `Content-Length cannot be changed by rules`},
		{&httpfarm.AddRequest.Rule, `{"header":"Connection: close"}`, `it is between two neighbours only`},
		{&httpfarm.AddResponse.Rule, `{"header":"Upgrade: x"}`, `Upgrade cannot be changed by rules`},
		{&httpfarm.AddRequest.Rule, `{"header":"HOST: x"}`, `use rewritehost`},
		{&httpfarm.AddRequest.Rule, `{"header":"Expect: 100-continue"}`, `use ignore_100_continue`},
		{&httpfarm.RemoveRequest.Rule, `{"pattern":"^Host:"}`, `Host cannot be changed by rules`},
		{&httpfarm.RemoveRequest.Rule, `{"pattern":"(?i)^host: internal\\.example"}`, `Host cannot be changed by rules`},
		{&httpfarm.RemoveRequest.Rule, `{"pattern":"^transfer-encoding"}`, `Transfer-Encoding cannot be changed by rules`},
		{&httpfarm.RemoveResponse.Rule, `{"pattern":"Keep-Alive"}`, `Keep-Alive cannot be changed by rules`},
		{&httpfarm.RemoveResponse.Rule, `{"pattern":"a\nb"}`, `it holds a control character`},
		{&httpfarm.RemoveResponse.Rule, `{"pattern":"(a"}`, `missing closing )`},
		{&httpfarm.RemoveResponse.Rule, `{"pattern":""}`, `pattern must be a valid regular expression, got ""`},
		{&httpfarm.ReplaceRequest.Rule, `{"header":"^Host$","match":"a","replace":"b"}`, `Host cannot be changed by rules`},
		{&httpfarm.ReplaceRequest.Rule, `{"header":"^Content-Length","match":"a","replace":"b"}`, `Content-Length cannot be changed by rules`},
		{&httpfarm.ReplaceRequest.Rule, `{"header":"a","match":"(?!a)","replace":"b"}`, `match must be a valid regular expression, got "(?!a)": look-around`},
		{&httpfarm.ReplaceRequest.Rule, `{"header":"a","match":"b","replace":"\r\nSet-Cookie: x"}`, `replace must be a text that fits in a header`},
		{&httpfarm.ReplaceRequest.Rule, `{"header":"a","match":"b"}`, `replace is required`},
		{&httpfarm.ReplaceRequest.Rule, `{"header":"a","match":"","replace":""}`, `match must be a valid regular expression, got ""`},
		{&httpfarm.Rewrites.Rule, `{"pattern":"a","replace":"/a b"}`, `replace must be a text that fits in a URL, got "/a b": it holds a blank`},
		{&httpfarm.Rewrites.Rule, `{"pattern":"a","replace":"/a#b"}`, `it holds a blank, a #`},
		{&httpfarm.Rewrites.Rule, `{"pattern":"a","replace":"/ü"}`, `beyond ASCII`},
		{&httpfarm.Rewrites.Rule, `{"pattern":"a++","replace":""}`, `possessive quantifiers`},
		{&httpfarm.Rewrites.Rule, `{"pattern":"a","replace":"","last":"maybe"}`, `last must be true or false, got "maybe"`},
	} {
		var err error
		switch table := c.table.(type) {
		case *field.Table[farm.HeaderAdd]:
			_, err = validatetest.Change(t, table, &farm.HeaderAdd{}, c.body)
		case *field.Table[farm.HeaderRemove]:
			_, err = validatetest.Change(t, table, &farm.HeaderRemove{}, c.body)
		case *field.Table[farm.HeaderReplace]:
			_, err = validatetest.Change(t, table, &farm.HeaderReplace{}, c.body)
		case *field.Table[farm.URLRewrite]:
			_, err = validatetest.Change(t, table, &farm.URLRewrite{}, c.body)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s\ngot  %v\nwant %s", c.body, err, c.want)
		}
	}
}

// A pattern that also matches other fields is a rule about those. The engine ignores the
// fixed ones.
func TestAPatternForManyFieldsIsAllowed(t *testing.T) {
	for _, pattern := range []string{".*", "^X-", "^Content-", "Host", "^X-Forwarded-Host:", "internal\\.example", "^Upgrade-Insecure-Requests", "^Set-Cookie: SID=", "^X-Content-Length"} {
		if _, err := validatetest.Change(t, &httpfarm.RemoveRequest.Rule, &farm.HeaderRemove{}, `{"pattern":`+fmt.Sprintf("%q", pattern)+`}`); err != nil {
			t.Error(err)
		}
	}
}

func TestRulesOfAListKeepTheRulesTogether(t *testing.T) {
	many := make([]farm.HeaderAdd, httpfarm.MaxRules+1)
	rewrites := make([]farm.URLRewrite, httpfarm.MaxRules+1)
	for i := range many {
		many[i].Header = fmt.Sprintf("X-%d: 1", i)
		rewrites[i] = farm.URLRewrite{Pattern: fmt.Sprint(i)}
	}
	for _, c := range []struct {
		spoil func(*farm.HTTP, *farm.Service)
		want  string
	}{
		{func(h *farm.HTTP, _ *farm.Service) {
			h.AddRequest = []farm.HeaderAdd{{Header: "X-A: 1"}, {Header: "x-a: 1"}}
		}, `farm "shop-1": addheader must not hold the same twice: item 1, "x-a: 1", is item 0 already`},
		{func(h *farm.HTTP, _ *farm.Service) { h.AddRequest = many }, `farm "shop-1": addheader may have at most 128 items, got 129`},
		{func(_ *farm.HTTP, s *farm.Service) { s.AddRequest = []farm.HeaderAdd{{Header: "Host: x"}} }, `farm "shop-1" service "web": addrequestheader must be a list of headers as "Name: value", got "Host: x"`},
		{func(h *farm.HTTP, _ *farm.Service) { h.RemoveRequest = []farm.HeaderRemove{{Pattern: "("}} }, `headremove must be a list of regular expressions, got "("`},
		{func(_ *farm.HTTP, s *farm.Service) {
			s.RemoveRequest = []farm.HeaderRemove{{Pattern: "a"}, {Pattern: "a"}}
		}, `removerequestheader must not hold the same twice`},
		{func(h *farm.HTTP, _ *farm.Service) { h.AddResponse = []farm.HeaderAdd{{Header: "a\nb"}} }, `addresponseheader must be a list of headers`},
		{func(h *farm.HTTP, _ *farm.Service) { h.RemoveResponse = []farm.HeaderRemove{{}} }, `removeresponseheader must be a list of regular expressions, item 0 is blank`},
		{func(h *farm.HTTP, _ *farm.Service) {
			h.ReplaceRequest = []farm.HeaderReplace{validatetest.Replacement("a", "b", "$1")}
		}, `farm "shop-1" replacerequestheader 0: replace: $1 stands for a group the pattern does not have; it has 0`},
		{func(_ *farm.HTTP, s *farm.Service) {
			s.ReplaceRequest = []farm.HeaderReplace{validatetest.Replacement("a", "(b)", "$1 $$2")}
		}, `service "web" replacerequestheader 0: replace: $2 stands for a group the pattern does not have; it has 1`},
		{func(h *farm.HTTP, _ *farm.Service) {
			h.ReplaceResponse = []farm.HeaderReplace{validatetest.Replacement("a", "(", "")}
		}, `replaceresponseheader 0: match must be a valid regular expression`},
		{func(_ *farm.HTTP, s *farm.Service) {
			s.ReplaceResponse = []farm.HeaderReplace{validatetest.Replacement("a", "b", "c"), validatetest.Replacement("a", "b", "c")}
		}, `replaceresponseheader must not hold the same twice: item 1 is item 0 already`},
		{func(_ *farm.HTTP, s *farm.Service) { s.Rewrites = []farm.URLRewrite{{Pattern: "^/a", Replace: "/$1"}} }, `service "web" rewriteurl 0: replace: $1 stands for`},
		{func(_ *farm.HTTP, s *farm.Service) { s.Rewrites = rewrites }, `rewriteurl may have at most 128 items, got 129`},
	} {
		cfg := validatetest.OnFarm(farm.Service{}, "http")
		c.spoil(cfg.Farms[0].HTTP, &cfg.Farms[0].HTTP.Services[0])
		if err := validatetest.First(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
	cfg := validatetest.OnFarm(farm.Service{HeaderRules: everyKind(), Rewrites: []farm.URLRewrite{{Pattern: "^/(a)(b)", Replace: "/$2$1?x=$", Last: true}, {Pattern: "^/(a)(b)", Replace: "/$2$1"}}}, "http")
	cfg.Farms[0].HTTP.HeaderRules = everyKind()
	if err := validatetest.Rules.Config(cfg); err != nil {
		t.Error(err)
	}
}

// everyKind returns rules of every kind.
func everyKind() farm.HeaderRules {
	return farm.HeaderRules{
		AddRequest: []farm.HeaderAdd{{Header: "X-A: 1"}, {Header: "X-A: 2"}}, RemoveRequest: []farm.HeaderRemove{{Pattern: "^X-Debug"}},
		ReplaceRequest: []farm.HeaderReplace{validatetest.Replacement("^User-Agent$", "(a)(b)", "$2$1")}, AddResponse: []farm.HeaderAdd{{Header: "X-B: "}},
		RemoveResponse: []farm.HeaderRemove{{Pattern: "^Server:"}}, ReplaceResponse: []farm.HeaderReplace{validatetest.Replacement("^Set-Cookie$", "$", "; Secure")},
	}
}

func TestEveryKindOfRuleHasItsListAtBothLevels(t *testing.T) {
	f := validatetest.Good().Farms[0]
	f.HTTP.HeaderRules = everyKind()
	s := farm.Service{HeaderRules: everyKind()}
	for i, got := range []any{*httpfarm.AddRequest.OfFarm(&f), *httpfarm.RemoveRequest.OfFarm(&f),
		*httpfarm.ReplaceRequest.OfFarm(&f),
		*httpfarm.AddResponse.OfFarm(&f), *httpfarm.RemoveResponse.OfFarm(&f), *httpfarm.ReplaceResponse.OfFarm(&f),
		*httpfarm.AddRequest.OfService(&s), *httpfarm.RemoveRequest.OfService(&s), *httpfarm.ReplaceRequest.OfService(&s),
		*httpfarm.AddResponse.OfService(&s), *httpfarm.RemoveResponse.OfService(&s), *httpfarm.ReplaceResponse.OfService(&s)} {
		if want := reflect.ValueOf(everyKind()).Field(i % 6).Interface(); !reflect.DeepEqual(got, want) {
			t.Errorf("list %d is %v, want %v", i, got, want)
		}
	}
	if httpfarm.Rewrites.OfFarm(&f) != nil || httpfarm.AddRequest.OfFarm(&farm.Farm{}) != nil {
		t.Error("a list where there is none")
	}
	if !httpfarm.ReplaceRequest.Moves || !httpfarm.ReplaceResponse.Moves || !httpfarm.Rewrites.Moves ||
		httpfarm.AddRequest.Moves || httpfarm.RemoveResponse.Moves {
		t.Error("Moves is set for other kinds than the ordered ones")
	}
}
