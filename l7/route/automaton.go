package route

// automaton finds all of many literals in one pass over a text (Aho and Corasick, "Efficient
// string matching", 1975). States are prefixes of literals. If a byte has no transition, the
// walk continues at the longest prefix that is also a suffix of the text read. A state takes
// about 20 bytes, so a literal takes at most about 300.
//
// Each literal marks the patterns that need it in bits. The number of bits is fixed. With
// more patterns, neighbours share a bit, which yields more candidates but the same result.
type automaton struct {
	first  [256]uint32 // transitions from the root; 0: stay there
	states []state     // the first is the root, which uses none of its fields
	next   []uint32    // state × (byte - lo) → state, 0: no transition
	ends   []end       // literals that end at a state; the first is unused
	marks  []uint16    // bits, by end
	share  uint        // ends >> share have one bit in a scan
}

type state struct {
	fail     uint32 // state to continue from if a byte has no transition
	next     uint32 // first slot in automaton.next
	end      uint32 // the longest literal that ends here, in automaton.ends
	lo, span byte   // slots exist for lo … lo+span-1
}

type end struct {
	marks span
	next  uint32 // the next shorter literal that ends here
}

// bits is the set of candidate patterns.
type bits [16]uint64

const numBits = 64 * len(bits{})

func (b *bits) add(i uint16)      { b[i>>6&15] |= 1 << (i & 63) }
func (b *bits) has(i uint16) bool { return b[i>>6&15]>>(i&63)&1 != 0 }

// shareOf returns the shift by which n numbers fit into bits.
func shareOf(n int) (share uint) {
	for n > numBits<<share {
		share++
	}
	return share
}

// scan marks the patterns in out that have a literal in text. Repeated literals are
// processed once.
func (a *automaton) scan(text []byte, out *bits) {
	var seen bits
	at := uint32(0)
	for _, b := range text {
		at = a.step(at, b)
		for e := a.states[at].end; e != 0; e = a.ends[e].next {
			if s := uint16(e >> a.share); !seen.has(s) {
				seen.add(s)
				a.mark(s, out)
			}
		}
	}
}

// step returns the state after b. Each failure shortens the prefix, so there are at most as
// many failures as bytes in the text.
func (a *automaton) step(at uint32, b byte) uint32 {
	if b-'A' < 26 {
		b |= 0x20
	}
	for at != 0 {
		s := &a.states[at]
		if k := b - s.lo; k < s.span {
			if next := a.next[s.next+uint32(k)]; next != 0 {
				return next
			}
		}
		at = s.fail
	}
	return a.first[b]
}

// mark marks the patterns of all literals that share a bit.
func (a *automaton) mark(s uint16, out *bits) {
	from := uint32(s) << a.share
	to := min(from+1<<a.share, uint32(len(a.ends)))
	for _, m := range a.marks[a.ends[from].marks.from:a.ends[to-1].marks.to] {
		out.add(m)
	}
}
