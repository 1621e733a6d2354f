package language

import "regexp/syntax"

// Answer is what is known of a question.
type Answer int

// The answers. Unknown: the budget did not last.
const (
	Unknown Answer = iota
	Yes
	No
)

// Budget is how many steps comparing may still take. Several questions may share
// one.
type Budget struct{ left int }

// NewBudget returns a budget of so many steps; a million takes some ten
// milliseconds.
func NewBudget(steps int) *Budget { return &Budget{steps} }

// Left is how many steps are left, 0 or less when it is used up.
func (b *Budget) Left() int { return b.left }

func (b *Budget) spend(n int) { b.left -= n }

// mostPairs bounds the pairs of states of one question, and with them its memory.
const mostPairs = 20_000

// pair is where both programs are; last is of the letter before what matters.
type pair struct {
	a, b state
	last rune
}

// found is a pair with the way to it.
type found struct {
	pair
	from int // its index, -1: none
	read rune
}

// Within reports whether everything that inner takes is taken by outer too. When it
// is not, text is one that only inner takes.
func Within(inner, outer *Language, b *Budget) (answer Answer, text string) {
	return walk(inner, outer, b, func(in, out bool) bool { return in && !out },
		func(p pair) bool { return p.b.matched || inner.dead(p.a) })
}

// Overlap reports whether there is a text that both take, and which.
func Overlap(one, other *Language, b *Budget) (answer Answer, text string) {
	answer, text = walk(one, other, b, func(x, y bool) bool { return x && y },
		func(p pair) bool { return one.dead(p.a) || other.dead(p.b) })
	switch answer {
	case Yes:
		return No, ""
	case No:
		return Yes, text
	}
	return answer, ""
}

// walk looks for a text after which wanted holds of who matched: No with the text
// when there is one, Yes when there is none. Nothing is looked for behind a pair that
// is useless.
func walk(one, other *Language, budget *Budget, wanted func(a, b bool) bool, useless func(pair) bool) (Answer, string) {
	alphabet := letters(one, other)
	start := pair{one.first(), other.first(), noRune}
	list, known := []found{}, map[pair]bool{}
	visit := func(p pair, from int, read rune) {
		if p.last = kindOf(p.last); !known[p] && !useless(p) {
			known[p] = true
			list = append(list, found{p, from, read})
		}
	}
	if one.begin != noRune {
		r := one.begin
		start = pair{one.step(start.a, noRune, r, budget), other.step(start.b, noRune, r, budget), r}
		visit(start, -1, r)
	} else {
		visit(start, -1, noRune)
	}
	for at := 0; at < len(list); at++ {
		if budget.left <= 0 || len(list) > mostPairs {
			return Unknown, ""
		}
		p := list[at].pair
		if wanted(one.step(p.a, p.last, noRune, budget).matched, other.step(p.b, p.last, noRune, budget).matched) {
			return No, textTo(list, at)
		}
		for _, r := range alphabet {
			visit(pair{one.step(p.a, p.last, r, budget), other.step(p.b, p.last, r, budget), r}, at, r)
		}
	}
	return Yes, ""
}

// kindOf is a letter that stands for all that conditions about places do not tell
// apart from this one.
func kindOf(r rune) rune {
	switch {
	case r == noRune:
		return noRune
	case syntax.IsWordChar(r):
		return 'a'
	}
	return '-'
}

func textTo(list []found, at int) string {
	var out []rune
	for ; at >= 0; at = list[at].from {
		if list[at].read != noRune {
			out = append(out, list[at].read)
		}
	}
	for i, k := 0, len(out)-1; i < k; i, k = i+1, k-1 {
		out[i], out[k] = out[k], out[i]
	}
	return string(out)
}
