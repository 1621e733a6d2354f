package route

import "slices"

// Rule is the match rule of a service. Empty patterns match everything.
type Rule struct {
	Host string // matched from the start of the host, ignoring case; a name must match to its end
	URL  string // searched in path and query
	// IgnoreCase applies to URL. Host always ignores case.
	IgnoreCase bool
	// More means that the rule has further conditions, see Conditions.
	More bool
}

// Conditions decides about rules with More whose patterns match.
type Conditions interface {
	// Holds reports whether the other conditions of a rule hold.
	Holds(rule int) bool
}

// Table is a compiled list of rules. It is immutable. The zero value is unusable;
// Compile(nil) returns a table that matches nothing.
type Table struct {
	rules  []compiled
	groups []group
	hosts  *trie
	// Literals of the candidates; nil without candidates.
	hostWords, urlWords *automaton
	sifted              []candidate // groups, in order
}

// compiled is a rule in its defining form, for input that is not plain and for Explain.
type compiled struct {
	host, url *pattern
	more      bool
	rule      Rule
}

// group holds the rules with the same host pattern.
type group struct {
	first  int32 // lowest of rules
	rules  []int32
	urls   *trie
	sifted []candidate // rules, in order
}

// Compile compiles the rules in order. It refuses patterns that do not parse, need a
// backtracking engine or exceed the limits, with an *Error.
func Compile(rules []Rule) (*Table, error) { return compileTable(rules, crowd) }

func compileTable(rules []Rule, crowd int) (*Table, error) {
	t := &Table{rules: make([]compiled, len(rules))}
	c := compiler{table: t, hosts: map[string]*pattern{}, urls: map[string]*pattern{}, folded: map[string]*pattern{}}
	for i, r := range rules {
		var err error
		t.rules[i].more, t.rules[i].rule = r.More, r
		if t.rules[i].host, err = c.pattern(c.hosts, r.Host, parseHost); err != nil {
			return nil, &Error{Rule: i, Part: "host", Pattern: r.Host, Err: err}
		}
		known, parse := c.urls, parseURL
		if r.IgnoreCase {
			known, parse = c.folded, parseFold
		}
		if t.rules[i].url, err = c.pattern(known, r.URL, parse); err != nil {
			return nil, &Error{Rule: i, Part: "url", Pattern: r.URL, Err: err}
		}
	}
	c.decide()
	c.index(crowd)
	return t, nil
}

// CheckHost returns the error of Compile for a host pattern.
func CheckHost(pattern string) error {
	if _, err := parseHost(pattern); err != nil {
		return &Error{Part: "host", Pattern: pattern, Err: err}
	}
	return nil
}

// CheckURL returns the error of Compile for a URL pattern.
func CheckURL(pattern string) error {
	if _, err := parseURL(pattern); err != nil {
		return &Error{Part: "url", Pattern: pattern, Err: err}
	}
	return nil
}

// compiler holds the state of a compilation. Equal texts share one pattern.
type compiler struct {
	table               *Table
	hosts, urls, folded map[string]*pattern
}

func (c *compiler) pattern(known map[string]*pattern, text string, parse func(string) (*pattern, error)) (*pattern, error) {
	if p := known[text]; p != nil {
		return p, nil
	}
	p, err := parse(text)
	if err == nil {
		known[text] = p
	}
	return p, err
}

// decide builds DFAs for the expressions, in rule order while there is room.
func (c *compiler) decide() {
	room, done := maxDFAs, map[*pattern]bool{}
	for _, r := range c.table.rules {
		for _, p := range [...]*pattern{r.host, r.url} {
			if done[p] || !slices.ContainsFunc(p.seqs, func(q seq) bool { return q.end == unsure }) {
				continue
			}
			done[p] = true
			if p.dfa = newDFA(p.tree, room); p.dfa != nil {
				room -= len(p.dfa.next)
			}
		}
	}
}

// index groups the rules and builds the tries and automata.
func (c *compiler) index(crowd int) {
	t := c.table
	number := map[*pattern]int32{}
	var hosts []planted
	var urls [][]planted
	for i, r := range t.rules {
		g, ok := number[r.host]
		if !ok {
			g = int32(len(t.groups))
			number[r.host] = g
			t.groups = append(t.groups, group{first: int32(i)})
			urls = append(urls, nil)
			hosts = append(hosts, planted{r.host, entry{value: g}})
		}
		t.groups[g].rules = append(t.groups[g].rules, int32(i))
		urls[g] = append(urls[g], planted{r.url, entry{value: int32(i), more: r.more}})
	}
	s := newSifter(crowd)
	for g, list := range urls {
		t.groups[g].urls, t.groups[g].sifted = s.plant(list, true)
	}
	t.urlWords = s.automaton()
	s = newSifter(crowd)
	t.hosts, t.sifted = s.plant(hosts, false)
	t.hostWords = s.automaton()
}
