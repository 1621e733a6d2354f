package route

// automaton finds which of many literals are in a text, in one walk over it
// (Aho and Corasick, "Efficient string matching", 1975). States are the
// beginnings of literals; the text leads from one to the next, and where it
// leads nowhere to the longest beginning that is also an end of what was read.
// A state takes some 20 bytes, so a literal at most some 300.
//
// A literal marks the patterns that need it in bits. There are as many bits
// whatever the number of patterns is: neighbours share one when there are more,
// which makes more of them candidates and changes no answer.
type automaton struct {
	first  [256]uint32 // where a byte leads from the root, 0: back to it
	states []state     // the first is the root, which uses none of its fields
	next   []uint32    // state × (byte - lo) → state, 0: nowhere
	ends   []end       // what ends at a state; the first means nothing
	marks  []uint16    // bits, by end
	share  uint        // ends >> share have one bit in a walk
}

type state struct {
	fail     uint32 // the state to go on from when a byte leads nowhere
	next     uint32 // first slot in automaton.next
	end      uint32 // the longest literal that ends here, in automaton.ends
	lo, span byte   // slots exist for lo … lo+span-1
}

type end struct {
	marks span
	next  uint32 // the next shorter literal that ends here
}

// bits says which patterns are candidates.
type bits [16]uint64

const numBits = 64 * len(bits{})

func (b *bits) add(i uint16)      { b[i>>6&15] |= 1 << (i & 63) }
func (b *bits) has(i uint16) bool { return b[i>>6&15]>>(i&63)&1 != 0 }

// shareOf returns by how much n numbers are shifted to fit into bits.
func shareOf(n int) (share uint) {
	for n > numBits<<share {
		share++
	}
	return share
}

// scan marks in out the patterns of which text holds a literal. A literal that
// is there more than once is looked at once.
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

// step returns where b leads from a state. Each failure shortens what was read,
// so all of them together are no more than the bytes of the text.
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

// mark adds the patterns of all literals that share a bit.
func (a *automaton) mark(s uint16, out *bits) {
	from := uint32(s) << a.share
	to := min(from+1<<a.share, uint32(len(a.ends)))
	for _, m := range a.marks[a.ends[from].marks.from:a.ends[to-1].marks.to] {
		out.add(m)
	}
}
