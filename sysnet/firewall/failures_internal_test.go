package firewall

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func splitLines(text string) []string { return strings.Split(text, "\n") }

// Wherever a chain cannot be read, nothing is decided.
func TestAChainThatCannotBeReadIsAnError(t *testing.T) {
	broken := errors.New("broken")
	for _, rules := range []string{
		":FORWARD DROP [0:0]\n-A FORWARD -j one\n-A one -j two\n-A two -j RETURN",
		":FORWARD DROP [0:0]\n-A FORWARD -j DOCKER-USER\n-A DOCKER-USER -j one\n-A one -j two\n-A two -j RETURN",
	} {
		read, calls := reading(rules), 0
		if _, err := find(func(name string) (chain, error) { calls++; return read(name) }); err != nil || calls < 3 {
			t.Fatalf("%d chains read, %v", calls, err)
		}
		for fails := range calls {
			n := 0
			at, err := find(func(name string) (chain, error) {
				if n++; n > fails {
					return chain{}, broken
				}
				return read(name)
			})
			if !errors.Is(err, broken) || at != (position{}) {
				t.Errorf("chain %d of %q: %+v, %v", fails, rules, at, err)
			}
		}
	}
	open := ":FORWARD DROP [0:0]\n-A FORWARD -j DOCKER-USER\n-A DOCKER-USER -s 192.0.2.1 -j DROP\n-A DOCKER-USER -m comment --comment sluice-farms -j ACCEPT"
	if got, err := find(reading(open)); err != nil || got != (position{true, dockerUser, 1}) {
		t.Errorf("a chain of operators without an end: %+v, %v", got, err)
	}
}

func TestRulesOfOursAreIntactWhereTheyBelong(t *testing.T) {
	want := specs(Need{Mark: 0x5c000000, Mask: 0xff000000, Tracked: true, Marked: true})
	const tracked = "-A FORWARD -m connmark --mark 0x5c000000/0xff000000 -m comment --comment sluice-farms -j ACCEPT"
	const marked = "-A FORWARD -m mark --mark 0x5c000000/0xff000000 -m comment --comment sluice-farms -j ACCEPT"
	const foreign = "-A FORWARD -s 192.0.2.1 -j DROP"
	for _, c := range []struct {
		lines  []string
		before int
		want   bool
	}{
		{[]string{tracked, marked}, 0, true}, {[]string{marked, tracked, foreign}, 0, true}, {[]string{foreign, marked, tracked}, 1, true}, {[]string{marked, foreign, tracked}, 1, true},
		{[]string{foreign, marked, tracked}, 0, false}, {[]string{marked, foreign, tracked}, 0, false}, {[]string{tracked}, 0, false}, {[]string{tracked, tracked, marked}, 0, false}, {nil, 0, false},
	} {
		if got := intact(parseChain(c.lines), want, c.before); got != c.want {
			t.Errorf("%q before %d: %v", c.lines, c.before, got)
		}
	}
}

func TestWordsOfALineAreTakenApart(t *testing.T) {
	for line, want := range map[string][]string{
		"": nil, "  ": nil, "-A x  -j y ": {"-A", "x", "-j", "y"}, `a "b c" d`: {"a", "b c", "d"}, `"a \" b" c\d`: {`a " b`, `c\d`}, `"\\"`: {`\`}, `""`: {""}, `"a\`: {`a\`}, `x"y z"`: {"xy z"},
	} {
		if got := split(line); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestTablesOfOthersAreWarnedOfAsTheyAre(t *testing.T) {
	tracked, marked := Need{Mark: 0x5c000000, Mask: 0xff000000, Tracked: true}, Need{Mark: 0x5c000000, Mask: 0xff000000, Marked: true}
	says := func(how, mark string) string {
		return "chain c of table inet f " + how + `; no other table can let packets of farms through there: its owner may add the rule "` + mark + ` and 0xff000000 == 0x5c000000 accept"`
	}
	dropping := says("drops what it does not accept", "ct mark")
	dnat := `{"match":{"op":"in","left":{"ct":{"key":"status"}},"right":"dnat"}}`
	for _, c := range []struct {
		policy, rules string
		need          Need
		want          string
	}{
		{"drop", "", tracked, dropping}, {"drop", "", marked, says("drops what it does not accept", "meta mark")}, {"accept", "", tracked, ""},
		{"drop", `[]`, tracked, dropping}, {"drop", `[{"counter":null},{"accept":null}]`, tracked, ""}, {"drop", `[{"log":null},{"accept":null}]`, tracked, ""}, {"drop", `[{"accept":null}]`, tracked, ""},
		{"accept", `[{"counter":null},{"drop":null}]`, tracked, says("drops what it has not accepted before", "ct mark")},
		{"accept", `[{"reject":null}]`, tracked, says("rejects what it has not accepted before", "ct mark")},
		{"drop", `[{"match":1},{"drop":null}]`, tracked, dropping}, {"accept", `[{"match":1},{"drop":null}]`, tracked, ""}, {"accept", `[{"match":1},{"accept":null}];[{"drop":null}]`, tracked, says("drops what it has not accepted before", "ct mark")},
		{"drop", `[{"match":{"right":1543503872}},{"accept":null}]`, tracked, ""}, {"drop", `[{"match":{"right":1543503872}},{"drop":null}]`, tracked, dropping},
		{"drop", `[` + dnat + `,{"accept":null}]`, tracked, ""}, {"drop", `[` + dnat + `,{"accept":null}]`, marked, says("drops what it does not accept", "meta mark")}, {"drop", `[` + dnat + `,{"drop":null}]`, tracked, dropping},
		{"drop", `[{"drop":null}];[{"match":{"right":1543503872}},{"accept":null}]`, tracked, says("drops what it has not accepted before", "ct mark")}, // that comes too late
		{"accept", `[{"drop":null}];[{"match":{"right":1543503872}},{"accept":null}]`, tracked, says("drops what it has not accepted before", "ct mark")},
	} {
		rules := ""
		for _, expr := range strings.Split(c.rules, ";") {
			if expr != "" {
				rules += `,{"rule":{"chain":"c","expr":` + expr + `}}`
			}
		}
		l, err := parseListing([]byte(`{"nftables":[{"metainfo":{}},{"chain":{"name":"c"}}` + rules + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := l.warning(base{"inet", "f", "c", c.policy}, c.need); got != c.want {
			t.Errorf("policy %s, %s\ngot  %s\nwant %s", c.policy, c.rules, got, c.want)
		}
	}
}

func TestChainsOfIptablesAreKnownByTheirNames(t *testing.T) {
	l, err := parseListing([]byte(`{"nftables":[{"chain":{"family":"ip","table":"filter","name":"FORWARD","hook":"forward","policy":"drop"}},{"chain":{"family":"ip","table":"filter","name":"x"}},
		{"chain":{"family":"inet","table":"filter","name":"FORWARD","hook":"forward"}},{"chain":{"family":"ip6","table":"filter","name":"INPUT","hook":"input"}},
		{"chain":{"family":"ip","table":"nat","name":"FORWARD","hook":"forward"}},{"chain":{"family":"ip","table":"sluice","name":"f","hook":"forward"}},{"chain":{"family":"ip","table":"filter","name":"own","hook":"forward"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for hook, want := range map[string]string{"forward": "{ip filter FORWARD drop} true, {inet filter FORWARD } false, {ip nat FORWARD } false, {ip filter own } false", "input": "{ip6 filter INPUT } true", "output": ""} {
		var got []string
		for _, b := range l.bases(hook) {
			got = append(got, fmt.Sprint(b, " ", b.iptables()))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("at %s: %q, want %s", hook, got, want)
		}
	}
}
