package route

import (
	"fmt"
	"strings"
	"testing"
)

// drawPattern returns the sequences of a pattern as text. A sequence begins with ^ at the start or
// ~ anywhere. Its bytes follow ('_' is any), then …, $ or ? for its status. The trie
// sequences come after them: the path and the remaining check.
func drawPattern(p *pattern) string {
	var out []string
	for _, q := range p.seqs {
		text := map[bool]string{false: "^", true: "~"}[q.floating] + drawnSets(q.elems)
		out = append(out, text+[]string{open: "", tail: "…", ended: "$", unsure: "?"}[q.end])
	}
	out = append(out, "→")
	for _, s := range p.trieSeqs() {
		text := "/" + drawnSets(s.elems)
		if s.exact {
			text += "$"
		}
		if c := s.check; c != nil {
			text += []string{containing: " holds ", suffix: " ends ", expression: " regexp"}[c.kind]
			if c.kind == expression {
				if c.need != nil {
					text += " with " + string(c.need)
				}
			} else {
				text += fmt.Sprintf("%s lit %q", drawnSets(c.seq), c.lit)
				if c.sure >= 0 {
					text += fmt.Sprintf(" at %d %c", c.sure, c.pivot)
				}
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func drawnSets(sets []set) string {
	var out strings.Builder
	for _, s := range sets {
		var members []byte
		for b := byte(' '); b < 0x7f; b++ {
			if s.has(b) {
				members = append(members, b)
			}
		}
		switch {
		case s == plain:
			out.WriteByte('_')
		case len(members) == 1:
			out.WriteByte(members[0])
		case len(members) > 8:
			fmt.Fprintf(&out, "[%d of %c-%c]", len(members), members[0], members[len(members)-1])
		default:
			fmt.Fprintf(&out, "[%s]", members)
		}
	}
	return out.String()
}

func TestPatternsAreShapedForTheTrie(t *testing.T) {
	for _, c := range []struct{ pattern, want string }{
		{`^/a`, `^/a → //a`},
		{`^/a$`, `^/a$ → //a$`},
		{`/a`, `~/a → / holds /a lit "/a" at 0 /`},
		{`/a$`, `~/a$ → / ends /a lit "/a" at 0 /`},
		{``, `~ → /`},
		{`^`, `^ → /`},
		{`$`, `~$ → /`},
		{`^$`, `^$ → /$`},
		{`^.*x`, `~x → / holds x lit "x" at 0 x`},
		{`^.+x`, `~_x → / holds _x lit "" at 1 x`},
		{`.*x`, `~x → / holds x lit "x" at 0 x`},
		{`x.*`, `~x… → / holds x lit "x" at 0 x`},
		{`^x.+`, `^x_… → /x_`},
		{`^x.+y`, `^x_? → /x_ regexp`},
		{`^x.*$`, `^x… → /x`},
		{`^x.+$`, `^x_… → /x_`},
		{`x.{2}`, `~x__ → / holds x__ lit "" at 0 x`},
		{`^.{3}$`, `^___$ → /___$`},
		{`(a|b)c`, `~[ab]c → / holds [ab]c lit "" at 1 c`},
		{`^/(a|b)?c$`, `^/c$ ^/[ab]c$ → //c$ //[ab]c$`},
		{`^ab*`, `^a? → /a regexp`},
		{`^ab+`, `^ab? → /ab regexp`},
		{`^a{3}`, `^aaa → /aaa`},
		{`^a{2,}`, `^aa? → /aa regexp`},
		{`^(ab){2}c`, `^ababc → /ababc`},
		{`a\b`, `~a? → / regexp with a`},
		{`\ba`, `~? → / regexp with a`},
		{`^/x[a-z]+`, `^/x[26 of a-z]? → //x[26 of a-z] regexp`},
		{`[0-9]x`, `~[10 of 0-9]x → / holds [10 of 0-9]x lit "" at 1 x`},
		{`(?i)ab-c`, `~[Aa][Bb]-[Cc] → / holds [Aa][Bb]-[Cc] lit "" at 2 -`},
		{`(?i)^ab$`, `^[Aa][Bb]$ → /[Aa][Bb]$`},
		{`[^a]`, `~[94 of  -~] → / holds [94 of  -~] lit ""`},
		{`.`, `~_ → / holds _ lit ""`},
		{`é`, `→`},
		{`^aé|^b`, `^b → /b`},
		{`a$b`, `→`},
		{`a^b`, `→`},
		{`^a|^a`, `^a ^a → /a /a`},
		{`(a|^)b`, `~ab ^b → / holds ab lit "ab" at 0 a /b`},
		{`(a|$)`, `~a ~$ → / holds a lit "a" at 0 a /`},
		{`(^|/)x($|/)`, `^x$ ~/x$ ^x/ ~/x/ → /x$ / ends /x lit "/x" at 0 / /x/ / holds /x/ lit "/x/" at 0 /`},
		{`a$.*`, `~a? → / regexp with a`},
		{`(?i)^.*KS[0-9]`, `~[Kk][Ss][10 of 0-9] → / holds [Kk][Ss][10 of 0-9] lit ""`},
		{`(ab+c)(def)*gh`, `~ab? → / regexp with gh`},
		{`(?i)[a-z]x{2}yy+`, `~[52 of A-z][Xx][Xx][Yy][Yy]? → / regexp`},
		{`(xyz){1,2}a`, `~xyz? → / regexp with xyz`},
		{`(xyz){0,2}a\b`, `~? → / regexp with a`},
		{`^ ~A@[[]`, `^ ~A@[ → / ~A@[`},
		{`\x1f`, `→`},
		{`\x7f`, `→`},
		{`[\x1f-!]`, `~[ !] → / holds [ !] lit ""`},
		{`[}-\x7f]`, `~[}~] → / holds [}~] lit ""`},
	} {
		p, err := parseURL(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := drawPattern(p); got != c.want {
			t.Errorf("%q:\ngot  %s\nwant %s", c.pattern, got, c.want)
		}
	}
}

// Plain hosts are in lower case, so upper-case letters match none of their bytes.
func TestHostPatternsAreShapedInLowerCase(t *testing.T) {
	for pattern, want := range map[string]string{
		`aAzZ`:         "^aazz$",
		`aA[z]Z`:       "^aazz",
		`@\[`:          "^@[",
		`(?-i:A)b`:     "",
		`(?-i:Z)b`:     "",
		`[?-\\]`:       "^[30 of ?-z]",
		`(?-i:[?-\\])`: "^[?@[\\]",
	} {
		p, err := parseHost(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(drawPattern(p), "→"); strings.TrimSpace(got) != want {
			t.Errorf("%q: %s, want %s", pattern, got, want)
		}
	}
}

// Sequences that are too long or too many are truncated, and the expression decides.
func TestShapesStayWithinTheirBounds(t *testing.T) {
	ways := func(n int) string { return "^(" + strings.Repeat("ab|c[de]|", n/2) + "f)" }
	for pattern, want := range map[string]string{
		"^" + strings.Repeat("a", maxElems):       "^" + strings.Repeat("a", maxElems),
		"^" + strings.Repeat("a", maxElems) + "b": "^" + strings.Repeat("a", maxElems) + "?",
		"^" + strings.Repeat("a{20}", 7):          "^" + strings.Repeat("a", maxElems) + "?",
		ways(maxSeqs - 2):                         "^ab" + strings.Repeat(" ^c[de] ^ab", (maxSeqs-4)/2) + " ^c[de] ^f",
		ways(maxSeqs):                             "^?",
		"^x(a|b|)(c|)(d|)$":                       "^x[ab]cd$ ^xcd$ ^x[ab]d$ ^xd$ ^x[ab]c$ ^xc$ ^x[ab]$ ^x$",
		"^(?:){500}a":                             "^?",
	} {
		p, err := parseURL(pattern)
		if err != nil {
			t.Fatal(err)
		}
		got, _, _ := strings.Cut(drawPattern(p), " →")
		if got != want {
			t.Errorf("%.40q: %s\nwant %s", pattern, got, want)
		}
	}
	const ways64 = "^x(a|)(?:b|)(c|)(?:d|)(e|)(?:f|)"
	for pattern, end := range map[string]status{ways64 + "$": ended, ways64 + "(g|)$": unsure} {
		p, err := parseURL(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.seqs) != maxSeqs || p.seqs[0].end != end || p.seqs[maxSeqs-1].end != end {
			t.Errorf("%q: %s", pattern, drawPattern(p))
		}
	}
}

// Equal paths share nodes, runs of bytes are folded, and entries after one that always holds
// are dropped.
func TestTriesAreCompact(t *testing.T) {
	rules := []Rule{
		{URL: "^/app/"}, {URL: "^/app/x$"}, {URL: "^/app/", More: true}, {URL: "^/b", More: true}, {URL: "^/b"}, {URL: "^/b"}, {URL: "^/[0-9]"}, {URL: "^/[0-9]z"},
		{Host: "b", URL: "^/b"}, {Host: "b", URL: "^/d"},
	}
	table, err := Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`node "/" sets 1 prefix 0-0 exact 0-0, bytes a-b at 0
node "pp/" sets 0 prefix 0-1 exact 1-1, bytes x-x at 2
node "" sets 0 prefix 1-1 exact 1-2
node "" sets 0 prefix 2-4 exact 4-4
node "" sets 0 prefix 4-5 exact 5-5, bytes z-z at 3
node "" sets 0 prefix 5-6 exact 6-6
jump [1 3 2 5] rules 0 1 3 4 6 7`,
		`node "/" sets 0 prefix 0-0 exact 0-0, bytes b-d at 0
node "" sets 0 prefix 0-1 exact 1-1
node "" sets 0 prefix 1-2 exact 2-2
jump [1 0 2] rules 8 9`,
	} {
		var out []string
		trie := table.groups[i].urls
		for _, n := range trie.nodes {
			text := fmt.Sprintf("node %q sets %d prefix %d-%d exact %d-%d", n.run, n.sets.to-n.sets.from, n.prefix.from, n.prefix.to, n.exact.from, n.exact.to)
			if n.span > 0 {
				text += fmt.Sprintf(", bytes %c-%c at %d", n.lo, n.lo+n.span-1, n.jump)
			}
			out = append(out, text)
		}
		last := fmt.Sprintf("jump %v rules", trie.jump)
		for _, e := range trie.entries {
			last += fmt.Sprint(" ", e.value)
		}
		if got := strings.Join(append(out, last), "\n"); got != want {
			t.Errorf("group %d:\n%s\nwant\n%s", i, got, want)
		}
	}
}
