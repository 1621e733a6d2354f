package validate

import (
	"fmt"
	"net/netip"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestNamesAreAsFarApartAsLettersMustChange(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"ab", "ba", 1}, {"xab", "xba", 1}, {"abx", "bax", 1}, {"abcd", "badc", 2}, {"abc", "cab", 2}, {"ca", "abc", 3},
		{"kitten", "sitting", 3}, {"abc", "abcd", 1}, {"bcd", "abcd", 1}, {"acd", "abcd", 1}, {"axcd", "abcd", 1}, {"abc", "xyz", 3}, {"aab", "aba", 1}, {"abab", "baba", 2}, {"vprot", "vport", 1},
	} {
		if got, back := editDistance(c.a, c.b), editDistance(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("the distances of %q and %q are %d and %d, want %d", c.a, c.b, got, back, c.want)
		}
	}
	for _, c := range []struct {
		word, name string
		want       int
	}{{"time", "contimeout", 2}, {"tim", "contimeout", 2}, {"ti", "contimeout", 8}, {"contimeou", "contimeout", 1}, {"contimeout", "time", 6}} {
		if got := distance(c.word, c.name); got != c.want {
			t.Errorf("%q is %d from %q, want %d", c.word, got, c.name, c.want)
		}
	}
}

// A short list of names is shown completely; from a long one, the nearest are suggested.
func TestWhatIsOfferedInstead(t *testing.T) {
	few := strings.Fields("aaaa bbbb cccc dddd eeee ffff gggg hhhh")
	many := append(few, "iiii")
	for _, c := range []struct {
		word  string
		known []string
		want  string
	}{
		{"aaab", few, ` (did you mean "aaaa"?); allowed are aaaa, bbbb, cccc, dddd, eeee, ffff, gggg, hhhh`},
		{"aabb", few, `; allowed are aaaa, bbbb, cccc, dddd, eeee, ffff, gggg, hhhh`},
		{"aaaabb", few, ` (did you mean "aaaa"?); allowed are aaaa, bbbb, cccc, dddd, eeee, ffff, gggg, hhhh`},
		{"b", few[:1], `; allowed are aaaa`}, {"x", nil, "; allowed are "},
		{"hhhi", many, ` (did you mean "hhhh"?)`},
		{strings.Repeat("a", 64) + "hhhh", many, ""},
	} {
		if got := Suggestion(c.word, c.known); got != c.want {
			t.Errorf("%q: %s, want %s", c.word, got, c.want)
		}
	}
}

// The ranges of all classes of a pattern are counted, up to their limit.
func TestPatternsMayHaveSoManyRanges(t *testing.T) {
	var pattern strings.Builder
	ranges := 0
	for _, class := range []string{`\pL`, `\p{Greek}`, `[a-c]`} {
		re, err := syntax.Parse(class, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		for n := len(re.Rune) / 2; ranges+n <= maxRanges; ranges += n {
			pattern.WriteString(class)
		}
	}
	if ranges != maxRanges {
		t.Fatalf("%d ranges", ranges)
	}
	if problem := checkPattern(pattern.String()); problem != "" {
		t.Errorf("%d ranges: %s", ranges, problem)
	}
	if problem := checkPattern(pattern.String() + "[a-c]"); problem != fmt.Sprintf("its character classes hold more than %d ranges", maxRanges) {
		t.Errorf("%d ranges: %q", ranges+1, problem)
	}
	for text, want := range map[string]int{"": 0, "a": 0, "[a-c]": 1, "[ace]": 3, "([a-c]|x[ace])*": 4, "[a-c]{3}": 1} {
		re, err := syntax.Parse(text, syntax.Perl)
		if err != nil || rangeCount(re) != want {
			t.Errorf("%q has %d ranges, want %d (%v)", text, rangeCount(re), want, err)
		}
	}
	for text, want := range map[string]int{"": 1, "a": 1, "abc": 3, "a|bc": 6, "(a)": 3, "(abc){4}": 4 * (1 + 1 + 1 + 1 + 3), "a{2,5}": 5 * 3, "a{3,}": 3 * 3, "a{0}": 3, "a*": 3} {
		re, err := syntax.Parse(text, syntax.Perl)
		if got := programSize(re); err != nil || got != want {
			t.Errorf("%q has %d steps, want %d (%v)", text, got, want, err)
		}
	}
}

// The number of passwords hashed per body is bounded by the patience of clients.
func TestPasswordsOfABodyAreBounded(t *testing.T) {
	const hash = "$2y$05$buP1zTIhCSBwzjbi2G2IveSR91Z/C.SYy3pcsq0fexwERkkwA/UL6"
	s := &farm.Service{Auth: &farm.Auth{Users: []farm.AuthUser{{Name: "known", Hash: hash}}}}
	users := []string{"known:" + unchanged, "hashed:" + hash}
	for i := range maxPlain {
		users = append(users, fmt.Sprintf("u%d:secret", i))
	}
	told := func(list []string) string {
		return needsUsers(ServiceUpdate.Checked("", map[string]Value{"auth_users": listValue(list)}), s)
	}
	if got := told(users); got != "" {
		t.Errorf("%d passwords: %s", maxPlain, got)
	}
	if got := told(append(users, "one:more")); !strings.HasPrefix(got, "may hold at most 32 passwords at once, got 33: ") {
		t.Errorf("%d passwords: %s", maxPlain+1, got)
	}
	if got := told([]string{"other:" + unchanged}); !strings.HasPrefix(got, `names user "other" with ***, which keeps the password a user has; there is no such user`) {
		t.Errorf("an unknown user's password: %s", got)
	}
}

// Values are equal only if all their parts are.
func TestValuesAreEqualInAllTheyAre(t *testing.T) {
	values := []Value{{}, textValue(""), textValue("a"), textValue("0"), numberValue(0), numberValue(1), boolValue(false), boolValue(true), listValue(nil), listValue([]string{"a"}), listValue([]string{"a", "b"}), listValue([]string{"b", "a"})}
	for i, a := range values {
		for j, b := range values {
			if a.equal(b) != (i == j) {
				t.Errorf("%v and %v are equal: %t", a, b, i != j)
			}
		}
		if nothing := i == 0 || i == 1 || i == 8; a.isNothing() != nothing || a.isBlankText() != (i == 1) || a.Null() != (i == 0) || a.IsText() != (i >= 1 && i <= 3) || a.IsList() != (i >= 8) {
			t.Errorf("%d: %+v", i, a)
		}
	}
	for want, v := range map[string]Value{"null": {}, "a, b": listValue([]string{"a", "b"}), "x": textValue("x"), "-3": numberValue(-3), "true": boolValue(true), "false": boolValue(false), "": listValue(nil)} {
		if got := v.words(); got != want {
			t.Errorf("%+v is written %q, want %q", v, got, want)
		}
	}
	if got := fmt.Sprintf("%#v %#v %#v", listValue(nil).Any(), boolValue(true).Any(), Value{}.Any()); got != `[]string{} "true" <nil>` {
		t.Errorf("as JSON: %s", got)
	}
}

// The network address and the broadcast address cannot be a server's.
func TestAddressesOfWholeNetworksAreKnown(t *testing.T) {
	prefix := parsed(t, "10.0.0.5/24", "10.1.0.5/30", "10.2.0.5/31", "10.3.0.5/32", "10.4.0.0/16", "2001:db8::5/120", "0.0.0.0/0")
	for text, want := range map[string]string{
		"10.0.0.0": "it is the address of the local network 10.0.0.0/24 itself", "10.0.0.1": "", "10.0.0.254": "", "10.0.0.255": "it is the broadcast address of the local network 10.0.0.0/24",
		"10.1.0.4": "it is the address of the local network 10.1.0.4/30 itself", "10.1.0.5": "", "10.1.0.6": "", "10.1.0.7": "it is the broadcast address of the local network 10.1.0.4/30", "10.1.0.8": "",
		"10.2.0.4": "", "10.2.0.5": "", "10.3.0.5": "", "10.4.255.255": "it is the broadcast address of the local network 10.4.0.0/16", "10.4.0.255": "", "10.5.0.0": "",
		"2001:db8::": "", "2001:db8::ff": "", "255.255.255.255": "it is the broadcast address",
	} {
		addr, _ := parseNetwork(text)
		if got := checkBackendAddr(addr.Addr(), prefix); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func parsed(t *testing.T, networks ...string) (out []netip.Prefix) {
	t.Helper()
	for _, text := range networks {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}
