package route

// maxLiteral is the maximum length of a searched literal. With maxAny it bounds a pattern's
// share of an automaton.
const maxLiteral = 16

// rarity counts the patterns that need a piece of a literal.
type rarity map[string]sighting

type sighting struct{ patterns, last int }

// note counts the literals of a pattern number.
func (r rarity) note(number int, sets []anyOf) {
	for _, set := range sets {
		for _, literal := range set {
			for piece := range pieces(literal) {
				if s := r[piece]; s.patterns == 0 || s.last != number {
					r[piece] = sighting{s.patterns + 1, number}
				}
			}
		}
	}
}

// rarest returns the most selective set: the one needed by the fewest other patterns, and
// the longest among equals. It holds pieces of the literals of at most maxLiteral bytes.
func (r rarity) rarest(sets []anyOf) anyOf {
	var best anyOf
	fewest := 0
	for _, set := range sets {
		cut, most := make(anyOf, 0, len(set)), 0
		for _, literal := range set {
			piece, n := r.piece(literal)
			cut, most = append(cut, piece), max(most, n)
		}
		if best == nil || most < fewest || most == fewest && cut.shortest() > best.shortest() {
			best, fewest = cut, most
		}
	}
	return best.unique()
}

// piece returns the rarest piece of a literal and the number of patterns that need it.
func (r rarity) piece(literal string) (string, int) {
	best, fewest := "", 0
	for piece := range pieces(literal) {
		if n := r[piece].patterns; best == "" || n < fewest {
			best, fewest = piece, n
		}
	}
	return best, fewest
}

// pieces yields the substrings that may be searched instead of a literal.
func pieces(literal string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		n := min(len(literal), maxLiteral)
		for i := 0; i+n <= len(literal); i++ {
			if !yield(literal[i : i+n]) {
				return
			}
		}
	}
}
