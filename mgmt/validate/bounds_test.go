package validate_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

// refusals returns a function that decodes a body of one field and returns the error.
func refusals[T any](table *field.Table[T]) func(name string, v any) string {
	return func(name string, v any) string {
		_, broken := table.DecodeAll("", map[string]any{name: v})
		for _, err := range broken {
			if err.Field == name {
				return err.Message
			}
		}
		return ""
	}
}

// numbered returns n different texts.
func numbered(n int, format string) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = fmt.Sprintf(format, i)
	}
	return out
}

// Values at a bound are accepted; those just beyond are rejected with the reason.
func TestValuesAreTakenUpToTheirBoundsAndNotBeyond(t *testing.T) {
	x := strings.Repeat
	farms, l4, services := refusals(&httpfarm.Update), refusals(&l4farm.Update), refusals(&httpfarm.ServiceUpdate)
	backends, l4Backends := refusals(&httpfarm.BackendDocument), refusals(&l4farm.BackendDocument)
	rewrites, adds := refusals(&httpfarm.Rewrites.Rule), refusals(&httpfarm.AddRequest.Rule)
	replaces := refusals(&httpfarm.ReplaceRequest.Rule)
	lists := func(v ...any) []any { return v }
	hash := "sha256:" + x("0f", 32)
	for _, c := range []struct {
		of    func(field string, v any) string
		field string
		good  []any
		bad   []any // pairs of value and reason
	}{
		{farms, "newfarmname", lists("a", "Z9-", "0a", x("a", 64)), lists("", "must be a name of letters", "modules", "the name is reserved", "_a", "got \"_a\"", "a_b", "a name of letters", x("a", 65), "must be at most 64 bytes long, got 65")},
		{farms, "vip", lists("0.0.0.0", "::", "127.0.0.1", "223.255.255.255", "255.255.255.254"),
			lists("fe80::1%eth0", "addresses with a zone are not supported", "::ffff:10.0.0.1", "write the IPv4 address itself", "224.0.0.1", "it is a multicast address", "ff02::1", "it is a multicast address", "255.255.255.255", "it is the broadcast address")},
		{farms, "trusted", lists(numbered(256, "10.0.0.%d")), lists(numbered(257, "2001:db8::%x"), "may have at most 256 items, got 257")},
		{farms, "error503", lists(x("x", 4096), "a\nb", "ü"), lists(x("x", 4097), "must be at most 4096 bytes long, got 4097", "a\xff", `must be valid UTF-8 text, got "a\xff"`, true, "must be a text of at most 4096 bytes, got true")},
		{farms, "nosslredirect", lists("http://x", "https://x/"+x("y", 2038)), lists("https://x/"+x("y", 2039), "at most 2048 bytes", "http://[::1", "it is no URL", "https:///a", "the host is missing", "https://u@x/", "it must not hold a user or password",
			"ftp://x", "it must start with http:// or https://", "http://${HOST}/", "a redirect knows ${VHOST}, the host of the request, and $1 to $9", "https://$host/", "$host is not replaced here: write ${VHOST} for the host of the request", "@file", "it is not read from a file: give the URL itself", "http://x/ ", "a blank or a control character", "http://x/\x1f", "a blank or a control character", "http://x/\x7f", "a blank or a control character")},
		{farms, "log_headers", lists(numbered(8, "X-%d"), lists(x("a", 64))), lists(lists(x("a", 65)), "at most 64 bytes long, got 65")},
		{farms, "log_redact", lists(numbered(256, "n%d")), lists(numbered(257, "n%d"), "may have at most 256 items, got 257", lists("a b"), "must be a list of at most 256 names, got \"a b\"")},
		{farms, "log_target", lists("unix:///"+x("a", 100), "udp://[::1]:514"), lists("unix:///"+x("a", 249), "must be at most 256 bytes long")},
		{farms, "certificates", lists(lists(x("a", 128)), lists("*.a.example", "*_a", "a b@(c)-d"), numbered(1000, "c%d")), lists(lists(x("a", 133)), "at most 132 bytes", lists("-a"), "it is made of letters, digits and _.()@- or blanks, after *. or *_ for a wildcard",
			lists("a.key"), "certificates end in .pem", lists("a.pem.pem"), "certificates end in .pem", lists("a.csr.pem"), "certificates end in .pem", numbered(1001, "c%d"), "at most 1000 items, got 1001")},
		{farms, "client_ca", lists("A.b-c_d", "0"), lists("-a", "and begins with a letter or digit", "a b", "it is made of letters, digits and _.-")},
		{farms, "checkurl", lists(x("a", 1024)), lists(x("a", 1025), "at most 1024 bytes long, got 1025", "a\x7f", "it holds a control character")},
		{l4, "source", lists("10.0.0.1", ""), lists("::ffff:10.0.0.1", "write the IPv4 address itself")},
		{l4, "log_prefix", lists(x("a", 64), "a ._:@()+,#-"), lists(x("a", 65), "at most 64 bytes", " a", "that starts with a letter or digit")},
		{services, "headrequire", lists(numbered(32, "a%d")), lists(numbered(33, "a%d"), "may have at most 32 items, got 33")},
		{services, "sessionid", lists(x("a", 255), " ", "~é"), lists(x("a", 256), "at most 255 bytes", "a\x1f", "must be a name without control characters", "a\x7f", "it holds a control character")},
		{services, "cookiename", lists(x("a", 255), "a!#$%&'*+.^_`|~-9"), lists(x("a", 256), "at most 255 bytes", "a b", "it holds another character", "a=", "it holds another character")},
		{services, "cookiedomain", lists("a.example", ".a.example"), lists("10.0.0.1", "it is no domain name", "..a", "it is no domain name", "a b", "it is no domain name")},
		{services, "cookiepath", lists("/", "/ ~"), lists("a/", "it starts with something else", "/;", "it holds a semicolon", "/\x1f", "a control character", "/\x7f", "one beyond ASCII", "/é", "one beyond ASCII")},
		{services, "served_by", lists("X-Backend", "Content", "Contents", x("a", 64)), lists("Content-", "answers need what Content- fields say", "content-X", "answers need what Content- fields say", "age", "answers need what Age says",
			"host", "it says where the request goes", "a b", "it holds another character", x("a", 65), "at most 64 bytes")},
		{services, "ratelimit_header", lists("X-Id", x("a", 64)), lists("a b", "must be the name of a header", x("a", 65), "at most 64 bytes")},
		{services, "compression_types", lists(numbered(64, "a/b%d"), lists("a/*", "A-1!/b+c.d"), lists(x("a", 126)+"/b")), lists(numbered(65, "a/b%d"), "may have at most 64 items, got 65", lists("*/b"), "type/* stands for all of a type", lists("a/"), "must be a list", lists(x("a", 127)+"/b"), "at most 128 bytes")},
		{services, "retry_on", lists(lists("connect", "reset", "timeout", "408", "425", "429", "500", "502", "503", "504")), lists(lists("404"), "it is none of them", lists("reset", "503", "reset"), `must not hold the same twice: item 2, "reset", is item 0 already`)},
		{services, "backend_leniency", lists(lists("all"), lists("repeated_chunked", "identity_coding", "chunk_size", "status_range", "status_line", "bare_lf", "name_blanks", "field_names", "control_bytes", "connection")), lists(lists("any"), "it is none of them", lists("all", "all"), "must not hold the same twice")},
		{services, "auth_users", lists(lists(x("n", 64)+":"+x("p", 72)), numbered(256, "u%d:"+validatetest.TeaHash)), lists(lists(x("n", 65)+":p"), "the name has 1 to 64 bytes without control characters", lists("n\x1f:p"), "the name has 1 to 64 bytes",
			lists("n:\x7f"), "the password holds a control character", numbered(257, "u%d:"+validatetest.TeaHash), "may have at most 256 items, got 257", lists("n:"+x("p", 73)), "the password has 73 bytes, at most 72 are possible")},
		{services, "auth_keys", lists(lists(x("k", 16), x("k", 255)), lists(hash), lists("sha256:0f0f0f0f…"), lists("sha256:0f0f0f0f..."), lists("a key with ~ in it"), numbered(64, "0123456789abcde%d")),
			lists(lists(x("k", 15)), "it has 15, which is too few to be beyond guessing", lists(x("k", 256)), "at most 255 bytes", lists(hash[:len(hash)-1]), "is no SHA-256", lists(hash+"0"), "is no SHA-256", lists(hash[:70]+"g"), "is no SHA-256",
				lists("sha256:0f0f0f0…"), "is no SHA-256", lists("sha256:0f0f0f0f0…"), "is no SHA-256", lists("sha256:0f0f0f0g…"), "is no SHA-256", lists(x("k", 16)+"\x7f"), "not printable ASCII", lists(x("k", 16)+"\x1f"), "not printable ASCII", numbered(65, "0123456789abcde%d"), "at most 64 items")},
		{services, "auth_header", lists(x("a", 64)), lists(x("a", 65), "at most 64 bytes", "Upgrade", "it is part of the protocol")},
		{services, "auth_realm", lists(x("a", 128), " ~"), lists(x("a", 129), "at most 128 bytes", "a\x1f", "it holds another character", "a\x7f", "it holds another character")},
		{services, "redirect", lists("https://${VHOST}/$1?a=b#c"), lists("http://", "the host is missing", "x", "it must start with http:// or https://")},
		{services, "vhost", lists("a^"), lists("^a", "it is compared from the start of the host anyway, leave the ^ out", "(a", "missing closing")},
		{backends, "ip", lists("a", "a.b_c.example.", x("a", 63)+".b", "1.a", "0a", "10.0.0.1", "fe80::1", "a-b"), lists(x("a", 64)+".b", "it is neither an address nor a host name", "a..b", "it is neither an address nor a host name", "a.12", "neither an address nor a host name", "-a", "neither", "a-", "neither",
			"0.0.0.0", "it is the unspecified address", "::", "it is the unspecified address", "224.0.0.1", "multicast", "255.255.255.255", "broadcast", x("a.", 128), "must be at most 255 bytes long, got 256", x("a.", 126)+"aa", "the name is longer than 253 bytes")},
		{backends, "alias", lists("a", "0 ._:@()+,#-", x("a", 64)), lists("0", "the name is reserved", "-a", "that starts with a letter or digit", "a/b", "must be a text of letters", x("a", 65), "at most 64 bytes")},
		{backends, "sessions", lists(lists(x("a", 255)), numbered(1000, "s%d")), lists(lists(x("a", 256)), "at most 255 bytes", lists("a\x1f"), "it holds a control character", numbered(1001, "s%d"), "may have at most 1000 items, got 1001")},
		{backends, "maintenance", lists("drain", "cut"), lists("up", `must be one of drain, cut, got "up"`)},
		{backends, "port", lists(1, 65535, "80"), lists(0, "got 0", 65536, "must be a number from 1 to 65535, got 65536", 80.5, "got 80.5", "8o", `got "8o"`)},
		{l4Backends, "server_names", lists(lists("a", "*.b.c", "a.example."), lists(x("a", 63)+".b")), lists(lists("*.b"), "names directly below a top level belong to everybody", lists("a.12"), "clients send no addresses as names", lists(x("a", 64)+".b"), "it is no host name",
			lists("*"), "it is no host name", lists("*.*.a.b"), "it is no host name", lists("a.b", "A.B."), `must not hold the same twice: item 1, "A.B.", is item 0 already`)},
		{rewrites, "replace", lists("", "/!~", x("a", 2048)), lists(x("a", 2049), "at most 2048 bytes", "/ ", "it holds a blank", "/\x7f", "one beyond ASCII", "/#", "it holds a blank, a #")},
		{rewrites, "pattern", lists(x("a", 1024)), lists(x("a", 1025), "at most 1024 bytes")},
		{replaces, "replace", lists("", "a\tb", " ~é", x("a", 4096)), lists(x("a", 4097), "at most 4096 bytes", "\x1f", "it holds a line feed or another control character", "\x7f", "another control character")},
		{replaces, "header", lists("^X-", ".", "Host-"), lists("^TE$", "TE cannot be changed by rules: it is between two neighbours only", "^host[a-z]", "Host cannot be changed by rules", "^Proxy\\s", "programs take it for a setting of theirs", "^expect ", "use ignore_100_continue", "^trailer$", "it frames the message")},
		{adds, "header", lists("a:", "!#$%&'*+.^_`|~-09AZaz: x\ty", "X: "+x("a", 4093)), lists("X: "+x("a", 4094), "at most 4096 bytes", "a: \x1f", "it holds a line feed", "http2-settings: x", "between two neighbours")},
	} {
		for _, v := range c.good {
			if got := c.of(c.field, v); got != "" {
				t.Errorf("%s %.60q: %s", c.field, v, got)
			}
		}
		for i := 0; i < len(c.bad); i += 2 {
			if got := c.of(c.field, c.bad[i]); !strings.HasPrefix(got, c.field+" ") || !strings.Contains(got, c.bad[i+1].(string)) {
				t.Errorf("%s %.60q: %q, want %s", c.field, c.bad[i], got, c.bad[i+1])
			}
		}
	}
}

// The size of a compiled pattern is counted as in the engine.
func TestPatternsAreTakenUpToTheSizeTheyMayHave(t *testing.T) {
	checkURL := refusals(&httpfarm.Update)
	for pattern, want := range map[string]string{
		`(?:` + strings.Repeat("a", 96) + `){102}b`:        "",
		`(?:` + strings.Repeat("a", 96) + `){102}bb`:       "it has more than 10000 steps when it is compiled: use smaller repetitions",
		`((?:` + strings.Repeat("ab", 9) + `c?){10}){100}`: "it has more than 10000 steps when it is compiled: use smaller repetitions",
		`a{1000}`:    "",
		`a{1001}`:    "{1001}: at most 1000 repetitions are possible",
		`(?>a)`:      "atomic groups are not available (RE2 syntax): write (?:…)",
		`(?!a)`:      "look-around is not available (RE2 syntax)",
		`(?<=a)`:     "look-around is not available (RE2 syntax)",
		`a*+`:        "possessive quantifiers are not available (RE2 syntax): leave the second + out",
		`a**`:        "invalid nested repetition operator: `**`",
		`\1`:         "back-references are not available (RE2 syntax)",
		`\9`:         "back-references are not available (RE2 syntax)",
		`\8a`:        "back-references are not available (RE2 syntax)",
		`\G`:         `the escape \G is not available (RE2 syntax)`,
		`\p{No}`:     "",
		`\p{Nobody}`: "invalid character class range: `\\p{Nobody}`",
		`)`:          "unexpected ): `)`",
		"a\x1f":      "it holds a control character",
		"a ":         "",
	} {
		got := checkURL("checkurl", pattern)
		if want != "" {
			want = "checkurl must be a valid regular expression, got " + fmt.Sprintf("%q", pattern) + ": " + want
			if len(pattern) > 64 {
				want = got[:strings.Index(got+": it", ": it")] + want[strings.LastIndex(want, ": it"):]
			}
		}
		if got != want {
			t.Errorf("%.80s\ngot  %s\nwant %s", pattern, got, want)
		}
	}
}

// A replacement refers to groups by one digit, and only to groups of its pattern.
func TestReplacementsNameGroupsThereAre(t *testing.T) {
	for _, c := range []struct {
		pattern, replace string
		missing          string
	}{
		{"a", "$", ""}, {"a", "$0", ""}, {"a", "$a", ""}, {"a", "$:", ""}, {"a", "1", ""}, {"a", "a1", ""}, {"a", "$1", "$1"}, {"a", "x$9", "$9"},
		{"(a)", "$1$2", "$2"}, {"(a)(b)", "$2$1", ""}, {"(a)(?:b)", "$2", "$2"}, {"(?P<n>a)", "$1", ""}, {strings.Repeat("(a)", 9), "$9", ""}, {strings.Repeat("(a)", 8), "$8$9$", "$9"},
	} {
		cfg := validatetest.OnFarm(farm.Service{Rewrites: []farm.URLRewrite{{Pattern: c.pattern, Replace: c.replace}}}, "http")
		want := ""
		if c.missing != "" {
			want = fmt.Sprintf(`farm "shop-1" service "web" rewriteurl 0: replace: %s stands for a group the pattern does not have; it has %d`, c.missing, strings.Count(c.pattern, "(")-strings.Count(c.pattern, "(?:"))
		}
		got := ""
		if err := validatetest.Rules.Config(cfg); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s by %s: got  %s\nwant %s", c.pattern, c.replace, got, want)
		}
	}
}

// A rejected value is quoted on the message's single line, truncated if necessary.
func TestRefusedValuesAreToldInOneBoundedLine(t *testing.T) {
	port := refusals(&httpfarm.BackendUpdate)
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, "null"}, {"a\nb", `"a\nb"`}, {strings.Repeat("x", 64), `"` + strings.Repeat("x", 64) + `"`}, {strings.Repeat("x", 65), `"` + strings.Repeat("x", 64) + `"… (65 bytes)`},
		{strings.Repeat("x", 63) + "é", `"` + strings.Repeat("x", 63) + `?"… (65 bytes)`}, {map[string]any{}, "an object"}, {[]any{}, "a list"}, {[]any{"a", 1.0}, "a list"}, {[]any{"a", nil}, "a list with null in it"},
		{[]any{true}, "a list with true in it"}, {[]any{[]any{}}, "a list with a list in it"}, {[]any{map[string]any{}}, "a list with an object in it"}, {json.Number(strings.Repeat("1", 64)), strings.Repeat("1", 64)},
		{json.Number(strings.Repeat("1", 65)), strings.Repeat("1", 64) + "…"}, {false, "false"},
	} {
		if got, want := port("port", c.v), "port must be a number from 1 to 65535, got "+c.want; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Numbers come in JSON notation, or as texts in any notation.
func TestNumbersAreReadUpToWhereTheyAreExact(t *testing.T) {
	for _, c := range []struct {
		raw  any
		want int64
		ok   bool
	}{
		{1<<53 + 0.0, 1 << 53, true}, {-(1<<53 + 0.0), -1 << 53, true}, {float64(1<<53 + 2), 0,
			false}, {-float64(1<<53 + 2), 0, false}, {0.5, 0, false}, {math.Inf(1), 0, false}, {math.NaN(), 0, false},
		{7, 7, true}, {int64(math.MinInt64), math.MinInt64, true}, {json.Number("12"), 12, true}, {json.Number("1.0"), 1, true}, {"9223372036854775807", math.MaxInt64, true}, {"9223372036854775808", 0, false},
		{"+1", 0, false}, {"-1", -1, true}, {"0x10", 0, false}, {"", 0, false}, {true, 0, false}, {nil, 0, false},
	} {
		got, ok := field.ParseNumber(c.raw)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%v (%T): %d %t", c.raw, c.raw, got, ok)
		}
	}
	errorText := func(v any) (string, bool) {
		values, broken := httpfarm.Update.DecodeAll("", map[string]any{"error503": v})
		return values.Get("error503").Text(), len(broken) == 0
	}
	for _, c := range []struct {
		raw  any
		want string
		ok   bool
	}{{"x", "x", true}, {1.5, "1.5", true}, {1e21, "1000000000000000000000", true}, {7, "7", true}, {int64(-8), "-8", true}, {json.Number("1e3"), "1000", true}, {json.Number("1.50"), "1.50", true}, {true, "", false}, {[]any{"a"}, "", false}} {
		if got, ok := errorText(c.raw); got != c.want || ok != c.ok {
			t.Errorf("%v (%T): %q %t", c.raw, c.raw, got, ok)
		}
	}
}
