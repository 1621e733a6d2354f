package lint

import (
	"regexp"

	"github.com/sluicelb/sluice/mgmt/lint/language"
)

// Step limits of comparisons: for the whole look (about half a second), for one question,
// and the minimum cost of a question, so that many small ones are bounded, too.
const (
	allSteps  = 50_000_000
	mostSteps = 500_000
	leastCost = 2_000
)

// kind is the kind of text that an expression matches.
type kind int

const (
	host kind = iota
	path
	pathAnyCase
	line
)

// expression is an expression of a service. Kind and text determine its language.
type expression struct {
	kind kind
	text string
}

// pair is a pair of compared expressions.
type pair struct{ a, b expression }

// comparison compares expressions, each pair once, until the steps are used up.
type comparison struct {
	left      int
	languages map[expression]*language.Language
	within    map[pair]language.Answer
	overlaps  map[pair]overlap
}

type overlap struct {
	answer language.Answer
	text   string
}

// language compiles an expression; nil if it cannot be compared.
func (c *comparison) language(e expression) *language.Language {
	if l, known := c.languages[e]; known {
		return l
	}
	var l *language.Language
	var err error
	switch e.kind {
	case host:
		l, err = language.Host(e.text)
	case line:
		l, err = language.Line("(?i)" + e.text)
	default:
		l, err = language.Target(e.text, e.kind == pathAnyCase)
	}
	if err != nil {
		l = nil
	}
	if c.languages == nil {
		c.languages, c.within, c.overlaps = map[expression]*language.Language{}, map[pair]language.Answer{}, map[pair]overlap{}
	}
	c.languages[e] = l
	return l
}

// ask evaluates one question if steps are left.
func (c *comparison) ask(a, b expression, question func(a, b *language.Language, budget *language.Budget)) {
	x, y := c.language(a), c.language(b)
	if x == nil || y == nil || c.left <= 0 {
		return
	}
	budget := language.NewBudget(min(c.left, mostSteps))
	before := budget.Left()
	question(x, y, budget)
	c.left -= leastCost + before - budget.Left()
}

// inside reports whether outer matches everything that inner matches.
func (c *comparison) inside(inner, outer expression) (answer language.Answer) {
	if inner == outer || outer.text == "" {
		return language.Yes
	}
	known, is := c.within[pair{inner, outer}]
	if is {
		return known
	}
	c.ask(inner, outer, func(a, b *language.Language, budget *language.Budget) { answer, _ = language.Within(a, b, budget) })
	if c.within != nil {
		c.within[pair{inner, outer}] = answer
	}
	return answer
}

// common reports whether some text matches both, and returns one.
func (c *comparison) common(a, b expression) (language.Answer, string) {
	if known, is := c.overlaps[pair{a, b}]; is {
		return known.answer, known.text
	}
	var out overlap
	c.ask(a, b, func(x, y *language.Language, budget *language.Budget) {
		out.answer, out.text = language.Overlap(x, y, budget)
	})
	if out.answer == language.Yes && a.kind == host {
		out.text = c.plain(a, b, out.text)
	}
	if c.overlaps != nil {
		c.overlaps[pair{a, b}] = out
	}
	return out.answer, out.text
}

// usual is a typical host name.
const usual = "www.example.com"

// plain replaces an odd example host by a typical one, if both expressions match it.
func (c *comparison) plain(a, b expression, text string) string {
	one := expression{host, "^" + regexp.QuoteMeta(usual) + "$"}
	if c.inside(one, a) == language.Yes && c.inside(one, b) == language.Yes {
		return usual
	}
	return text
}
