package route

// crowd is the maximum number of checks below the same literal prefix. Beyond it, one scan
// of the input for all literals is cheaper than evaluating the checks one after the other.
const crowd = 4

// candidate is an entry that is only evaluated if the input has a literal that its pattern
// needs.
type candidate struct {
	entry
	bit  uint16 // of the pattern
	skip uint16 // to the next candidate whose bit lies elsewhere in bits
}

// planted is a pattern and its entry before they enter a trie.
type planted struct {
	pattern *pattern
	entry   entry
}

// sifter collects the patterns of an automaton.
type sifter struct {
	crowd   int
	numbers map[*pattern]int // -1: it needs no literal
	needs   [][]anyOf        // by number
	sifted  []sifted
}

// sifted holds the candidates of one trie and their pattern numbers.
type sifted struct {
	list    []candidate
	numbers []int
}

func newSifter(crowd int) *sifter { return &sifter{crowd: crowd, numbers: map[*pattern]int{}} }

// plant builds the trie of a list. Entries that would form a crowd become candidates
// instead, in the order of the list.
func (s *sifter) plant(list []planted, shadow bool) (*trie, []candidate) {
	var root branch
	seqs := make([][]trieSeq, len(list))
	crowds := map[string]int{}
	for i, l := range list {
		seqs[i] = l.pattern.trieSeqs()
		for _, pl := range seqs[i] {
			if pl.check != nil {
				crowds[beginning(pl.elems)]++
			}
		}
	}
	var out sifted
	for i, l := range list {
		number := -1
		for _, pl := range seqs[i] {
			if pl.check != nil && crowds[beginning(pl.elems)] > s.crowd {
				number = s.number(l.pattern)
			}
		}
		asked := false
		for _, pl := range seqs[i] {
			switch {
			case number < 0 || pl.check == nil:
				root.add(pl, l.entry)
				continue
			case pl.check.kind == expression && asked:
				continue
			}
			asked = asked || pl.check.kind == expression
			e := l.entry
			e.check = pl.check
			out.list, out.numbers = append(out.list, candidate{entry: e}), append(out.numbers, number)
		}
	}
	s.sifted = append(s.sifted, out)
	return root.freeze(shadow), out.list
}

// beginning returns the literal prefix of a path.
func beginning(elems []set) string {
	var out []byte
	for _, e := range elems {
		b, ok := e.single()
		if !ok {
			break
		}
		out = append(out, b)
	}
	return string(out)
}

// number returns the number of a pattern, or -1 if it needs no literal.
func (s *sifter) number(p *pattern) int {
	n, ok := s.numbers[p]
	if ok {
		return n
	}
	n = -1
	if sets := p.literals(p.tree); len(sets) > 0 {
		n = len(s.needs)
		s.needs = append(s.needs, sets)
	}
	s.numbers[p] = n
	return n
}

// automaton returns the automaton for the literals, or nil if there are none, and assigns
// the bits of the candidates.
func (s *sifter) automaton() *automaton {
	if len(s.needs) == 0 {
		return nil
	}
	rare := rarity{}
	for n, sets := range s.needs {
		rare.note(n, sets)
	}
	share, root := shareOf(len(s.needs)), &sprout{}
	for n, sets := range s.needs {
		for _, literal := range rare.rarest(sets) {
			root.add(literal, uint16(n>>share))
		}
	}
	for _, f := range s.sifted {
		for i := len(f.list) - 1; i >= 0; i-- {
			c := &f.list[i]
			c.bit, c.skip = uint16(f.numbers[i]>>share), 1
			if i+1 < len(f.list) && f.list[i+1].bit>>6 == c.bit>>6 && f.list[i+1].skip < 1<<15 {
				c.skip += f.list[i+1].skip
			}
		}
	}
	return root.build()
}

// siftHosts evaluates the groups whose host pattern is a candidate.
func (w *walk) siftHosts(marked *bits) {
	var hosts bits
	w.table.hostWords.scan(w.host, &hosts)
	list := w.table.sifted
	for i := 0; i < len(list); {
		c := &list[i]
		if w.table.groups[c.value].first >= w.best {
			return
		}
		if hosts[c.bit>>6] == 0 {
			i += int(c.skip)
			continue
		}
		if hosts.has(c.bit) {
			w.group(&c.entry, marked)
		}
		i++
	}
}

// siftURLs searches the candidates of a group for a better rule.
func (w *walk) siftURLs(list []candidate, marked *bits) {
	if !w.scanned {
		w.table.urlWords.scan(w.target, marked)
		w.scanned = true
	}
	for i := 0; i < len(list) && list[i].value < w.best; {
		c := &list[i]
		if marked[c.bit>>6] == 0 {
			i += int(c.skip)
			continue
		}
		if marked.has(c.bit) && w.holds(c.check) && (!c.more || w.more.Holds(int(c.value))) {
			w.best = c.value
			return
		}
		i++
	}
}
