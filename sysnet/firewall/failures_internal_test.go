package firewall

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func splitLines(text string) []string { return strings.Split(text, "\n") }

// An error in reading any chain makes find fail.
func TestUnreadableChainIsAnError(t *testing.T) {
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

func TestOwnRulesAreIntactAtTheirPosition(t *testing.T) {
	want := specs(Need{Mark: 0x5c000000, Mask: 0xff000000, Packets: []Packets{{Protocol: "tcp"}, {Marked: true, Protocol: "udp"}, {V6: true, Protocol: "tcp"}}}, false)
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
			t.Errorf("%q before %d: got %v, want %v", c.lines, c.before, got, c.want)
		}
	}
}

func TestLinesAreSplitIntoWords(t *testing.T) {
	for line, want := range map[string][]string{
		"": nil, "  ": nil, "-A x  -j y ": {"-A", "x", "-j", "y"}, `a "b c" d`: {"a", "b c", "d"}, `"a \" b" c\d`: {`a " b`, `c\d`}, `"\\"`: {`\`}, `""`: {""}, `"a\`: {`a\`}, `x"y z"`: {"xy z"},
	} {
		if got := split(line); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestIptablesChainsAreRecognizedByName(t *testing.T) {
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
