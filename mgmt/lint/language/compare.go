package language

import "regexp/syntax"

// Answer is the answer to a question.
type Answer int

// Answers. Unknown means that the budget was exhausted.
const (
	Unknown Answer = iota
	Yes
	No
)

// Budget is the number of remaining steps. Questions may share one.
type Budget struct{ left int }

// NewBudget returns a budget of that many steps; a million takes about ten milliseconds.
func NewBudget(steps int) *Budget { return &Budget{steps} }

// Left returns the remaining steps, 0 or less if exhausted.
func (b *Budget) Left() int { return b.left }

func (b *Budget) spend(n int) { b.left -= n }

// mostPairs bounds the pairs of states of one question, and thus its memory.
const mostPairs = 20_000

// pair is a state of both programs; last is the previous letter, reduced to its class.
type pair struct {
	a, b state
	last rune
}

// found is a pair and the path to it.
type found struct {
	pair
	from int // its index, -1: none
	read rune
}

// Within reports whether outer matches everything that inner matches. If not, text matches
// only inner.
func Within(inner, outer *Language, b *Budget) (answer Answer, text string) {
	return walk(inner, outer, b, func(in, out bool) bool { return in && !out },
		func(p pair) bool { return p.b.matched || inner.dead(p.a) })
}

// Overlap reports whether some text matches both, and returns one.
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

// walk searches for a text for which wanted is true. It returns No and the text if there is
// one, Yes if there is none. It does not continue from useless pairs.
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

// kindOf returns a representative of all letters that position assertions treat alike.
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
