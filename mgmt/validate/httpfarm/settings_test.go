package httpfarm_test

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

func TestEverySettingIsSetShownAndReset(t *testing.T) {
	prefix := netip.MustParsePrefix
	for _, c := range []struct {
		body, field, shown string
		want               func(*farm.HTTP)
	}{
		{`{"wstimeout":"30"}`, "wstimeout", `30`, func(h *farm.HTTP) { h.TunnelTimeout = 30 }},
		{`{"wstimeout":600}`, "wstimeout", `600`, func(h *farm.HTTP) {}},
		{`{"contimeout":null}`, "contimeout", `null`, func(h *farm.HTTP) {}},
		{`{"reqtimeout":""}`, "reqtimeout", `null`, func(h *farm.HTTP) {}},
		{`{"grace":3600}`, "grace", `3600`, func(h *farm.HTTP) { h.StopGrace = 3600 }},
		{`{"rewritehost":"true"}`, "rewritehost", `"true"`, func(h *farm.HTTP) { h.RewriteHost = true }},
		{`{"rewritedestination":true}`, "rewritedestination", `"true"`, func(h *farm.HTTP) { h.RewriteDestination = true }},
		{`{"logs":"true"}`, "logs", `"true"`, func(h *farm.HTTP) { h.Logs = true }},
		{`{"ignorecase":true}`, "ignorecase", `"true"`, func(h *farm.HTTP) { h.IgnoreCase = true }},
		{`{"checkurl":"^/(a|b)"}`, "checkurl", `"^/(a|b)"`, func(h *farm.HTTP) { h.CheckURL = "^/(a|b)" }},
		{`{"maxrequest":1024}`, "maxrequest", `1024`, func(h *farm.HTTP) { h.MaxHead = 1024 }},
		{`{"maxbody":1099511627776}`, "maxbody", `1099511627776`, func(h *farm.HTTP) { h.MaxBody = 1 << 40 }},
		{`{"maxconnections":32760,"overflow":"refuse"}`, "maxconnections", `32760`, func(h *farm.HTTP) { h.MaxConnections, h.Overflow = 32760, "refuse" }},
		{`{"overflow":"wait"}`, "overflow", `"wait"`, func(h *farm.HTTP) {}},
		{`{"trusted":["10.1.2.3/8","2001:db8::1"]}`, "trusted", `["10.0.0.0/8","2001:db8::1"]`, func(h *farm.HTTP) {
			h.Trusted = []netip.Prefix{prefix("10.0.0.0/8"), prefix("2001:db8::1/128")}
		}},
		{`{"trusted":"192.0.2.1"}`, "trusted", `["192.0.2.1"]`, func(h *farm.HTTP) { h.Trusted = []netip.Prefix{prefix("192.0.2.1/32")} }},
		{`{"trusted":[]}`, "trusted", `[]`, func(h *farm.HTTP) {}},
		{`{"mark":"4294967295"}`, "mark", `4294967295`, func(h *farm.HTTP) { h.Mark = 1<<32 - 1 }},
		{`{"errorWAF":"no"}`, "errorWAF", `"no"`, func(h *farm.HTTP) { h.ErrorWAF = "no" }},
		{`{"ignore_100_continue":"silent"}`, "ignore_100_continue", `"silent"`, func(h *farm.HTTP) { h.Continue = "silent" }},
		{`{"ignore_100_continue":"not-allow"}`, "ignore_100_continue", `"not-allow"`, func(h *farm.HTTP) { h.Continue = "not-allow" }},
		{`{"ignore_100_continue":true}`, "ignore_100_continue", `"ignore"`, func(h *farm.HTTP) { h.Continue = "ignore" }},
		{`{"ignore_100_continue":"true"}`, "ignore_100_continue", `"ignore"`, func(h *farm.HTTP) { h.Continue = "ignore" }},
		{`{"ignore_100_continue":"false"}`, "ignore_100_continue", `"pass"`, func(h *farm.HTTP) {}},
		{`{"ignore_100_continue":0}`, "ignore_100_continue", `"pass"`, func(h *farm.HTTP) {}},
		{`{"ignore_100_continue":1}`, "ignore_100_continue", `"ignore"`, func(h *farm.HTTP) { h.Continue = "ignore" }},
		{`{"ignore_100_continue":"2"}`, "ignore_100_continue", `"silent"`, func(h *farm.HTTP) { h.Continue = "silent" }},
		{`{"ignore_100_continue":3}`, "ignore_100_continue", `"not-allow"`, func(h *farm.HTTP) { h.Continue = "not-allow" }},
	} {
		f := farm.Farm{HTTP: farm.DefaultHTTP()}
		values, err := validatetest.Change(t, &httpfarm.Update, &f, c.body)
		want := farm.DefaultHTTP()
		if c.want(want); err != nil || !reflect.DeepEqual(f.HTTP, want) || validatetest.Sent(values, c.field) != c.shown {
			t.Errorf("%s: %v\nshown %s, set %+v\nwant  %s, set %+v", c.body, err, validatetest.Sent(values, c.field), f.HTTP, c.shown, want)
		}
		if c.field == "logs" || c.field == "ignorecase" || strings.HasPrefix(c.field, "rewrite") {
			continue // booleans have no unset value
		}
		if _, err := validatetest.Change(t, &httpfarm.Update, &f, `{"`+c.field+`":null,"overflow":null}`); err != nil || !reflect.DeepEqual(f.HTTP, farm.DefaultHTTP()) {
			t.Errorf("%s reset: %v %+v", c.field, err, f.HTTP)
		}
	}
}

func TestSettingsAreRefusedWithWhatIsAllowed(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{"wstimeout":0}`, `wstimeout must be a number from 1 to 86400 (seconds), got 0`},
		{`{"grace":3601}`, `grace must be a number from 1 to 3600 (seconds), got 3601`},
		{`{"rewritehost":1}`, `rewritehost must be true or false, got 1`},
		{`{"checkurl":"("}`, `checkurl must be a valid regular expression, got "("`},
		{`{"maxrequest":65537}`, `maxrequest must be a number from 1024 to 65536 (bytes), got 65537`},
		{`{"maxrequest":1023}`, `got 1023`},
		{`{"maxbody":1099511627777}`, `maxbody must be a number from 0 to 1099511627776`},
		{`{"maxbody":-1}`, `got -1`},
		{`{"maxconnections":2147483648}`, `maxconnections must be at most 2147483647, got 2147483648`},
		{`{"mark":4294967296}`, `mark must be a number from 0 to 4294967295, got 4294967296`},
		{`{"overflow":"queue"}`, `overflow must be one of wait, refuse, got "queue"`},
		{`{"ignore_100_continue":4}`, `ignore_100_continue must be one of pass, ignore, silent, not-allow, got "4"`},
		{`{"ignore_100_continue":"yes"}`, `got "yes"`},
		{`{"ignore_100_continue":["pass"]}`, `got a list`},
		{`{"trusted":["10.0.0.0/33"]}`, `trusted must be a list of addresses and networks, got "10.0.0.0/33": it is neither an address nor a network as 192.0.2.0/24`},
		{`{"trusted":["shop.example"]}`, `got "shop.example"`},
		{`{"trusted":["fe80::1%eth0"]}`, `addresses with a zone are not supported`},
		{`{"trusted":["::ffff:10.0.0.1"]}`, `write the IPv4 address itself`},
		{`{"trusted":["10.0.0.1","10.0.0.1/32"]}`, `trusted must not hold the same twice: item 1, "10.0.0.1/32", is item 0 already`},
		{`{"trusted":["10.0.0.1",""]}`, `item 1 is blank`},
		{`{"trusted":[["10.0.0.1"]]}`, `got a list with a list in it`},
		{`{"trusted":[{"a":1}]}`, `got a list with an object in it`},
		{`{"trusted":[null]}`, `got a list with null in it`},
		{`{"trusted":{"a":1}}`, `trusted must be a list of addresses and networks, got an object`},
		{`{"trusted":[` + strings.Repeat(`"::",`, profile.MaxTrusted) + `"::"]}`, `trusted may have at most 256 items, got 257`},
	} {
		f := farm.Farm{HTTP: farm.DefaultHTTP()}
		_, err := validatetest.Change(t, &httpfarm.Update, &f, c.body)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s\ngot  %v\nwant %s", c.body, err, c.want)
		}
	}
}

func TestAPatternOfAnotherEngineIsExplained(t *testing.T) {
	for pattern, want := range map[string]string{
		`(?=a)`:                     "look-around is not available (RE2 syntax)",
		`(?<!a)b`:                   "look-around",
		`(?>a+)b`:                   "atomic groups are not available",
		`a++`:                       "possessive quantifiers are not available",
		`(a)\1`:                     "back-references are not available",
		`a\Kb`:                      `the escape \K is not available`,
		`a{1001}`:                   "{1001}: at most 1000 repetitions are possible",
		`((a{10}){10}){11}`:         "at most 1000 repetitions",
		`[a`:                        "missing closing ]: `[a`",
		`((abcdefghijkl){100}){10}`: "it has more than 10000 steps when it is compiled",
		"[" + strings.Repeat(`\pL`, 60) + "]" + strings.Repeat(`\pL`, 60): "its character classes hold more than 32000 ranges",
		"a\tb":   "it holds a control character",
		`a(?#x)`: "comments are not allowed",
	} {
		f := farm.Farm{HTTP: farm.DefaultHTTP()}
		b, _ := json.Marshal(map[string]string{"checkurl": pattern})
		_, err := validatetest.Change(t, &httpfarm.Update, &f, string(b))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", pattern, err, want)
		}
	}
	for _, pattern := range []string{`(?i)^/a(?P<x>b)(?<y>c)\d+\.(png|jpe?g)$`, `\Qa.b\E`, `(abc){100}`, `\p{Greek}`} {
		f := farm.Farm{HTTP: farm.DefaultHTTP()}
		b, _ := json.Marshal(map[string]string{"checkurl": pattern})
		if _, err := validatetest.Change(t, &httpfarm.Update, &f, string(b)); err != nil {
			t.Error(err)
		}
	}
}
