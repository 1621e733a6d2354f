package route

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
)

// Bounds of DFAs for plain input. Beyond them the expression itself runs, which takes about
// ten times as long.
const (
	maxDFA       = 4 << 10   // slots of one pattern, two bytes each
	maxDFAs      = 256 << 10 // slots of all patterns of a table: some hundred usual patterns
	maxDFASteps  = 500       // instructions of a program that is considered
	maxDFAStates = 200
)

// dfa matches plain input with one lookup per byte. A state stands for a set of program
// positions. It reports whether there is a match, but not where.
type dfa struct {
	class [128]uint8 // class of each byte; the pattern treats bytes of a class alike
	width int        // slots per state: one for each class, and one for the end
	next  []uint16   // state + class → state; a state is the offset of its slots
}

// States without slots.
const (
	lost uint16 = iota // no match is possible
	sure               // a match was found
)

// match reports whether the expression matches in s, which is plain.
func (d *dfa) match(s []byte) bool {
	at := uint16(d.width) // the first state, after the unused slots
	for _, b := range s {
		if at = d.next[int(at)+int(d.class[b&0x7f])]; at <= sure {
			return at == sure
		}
	}
	return d.next[int(at)+d.width-1] == sure
}

// dfaBuilder builds the DFA of a program, state by state.
type dfaBuilder struct {
	dfa
	prog    *syntax.Prog
	classes []byte            // one byte of each class
	states  map[string]uint16 // by key
	waiting [][]uint32        // instructions that consume a byte, for states without slots yet

	// State of follow: seen marks visited instructions with the number of the call.
	seen          []uint32
	number        uint32
	places, ready []uint32
	key           []byte
}

// newDFA returns the DFA of a pattern with at most most slots. It returns nil if the pattern
// uses word boundaries or exceeds a bound.
func newDFA(tree *syntax.Regexp, most int) *dfa {
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || len(prog.Inst) > maxDFASteps {
		return nil
	}
	b := &dfaBuilder{prog: prog, states: map[string]uint16{}, seen: make([]uint32, len(prog.Inst))}
	if slices.ContainsFunc(prog.Inst, asksForWord) {
		return nil
	}
	b.classify()
	b.width = len(b.classes) + 1
	b.next = make([]uint16, b.width)
	if b.state([]uint32{uint32(prog.Start)}, syntax.EmptyBeginText|syntax.EmptyBeginLine) <= sure {
		return nil // any input matches: not worth a DFA
	}
	for done := 0; done < len(b.waiting); done++ {
		if len(b.next) > min(most, maxDFA) || len(b.waiting) > maxDFAStates {
			return nil
		}
		b.lay((done+1)*b.width, b.waiting[done])
	}
	return &b.dfa
}

func asksForWord(i syntax.Inst) bool {
	return i.Op == syntax.InstEmptyWidth && syntax.EmptyOp(i.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0
}

// takesByte reports whether an instruction consumes a byte.
func takesByte(i *syntax.Inst) bool {
	return i.Op == syntax.InstRune || i.Op == syntax.InstRune1 || i.Op == syntax.InstRuneAny || i.Op == syntax.InstRuneAnyNotNL
}

// classify groups the plain bytes by the instructions that accept them.
func (b *dfaBuilder) classify() {
	known := map[string]uint8{}
	for c := byte(' '); c < 0x7f; c++ {
		var takes []byte
		for i := range b.prog.Inst {
			if in := &b.prog.Inst[i]; takesByte(in) && in.MatchRune(rune(c)) {
				takes = binary.LittleEndian.AppendUint16(takes, uint16(i))
			}
		}
		class, ok := known[string(takes)]
		if !ok {
			class = uint8(len(b.classes))
			known[string(takes)] = class
			b.classes = append(b.classes, c)
		}
		b.class[c] = class
	}
}

// lay fills the slots of the state that begins at at.
func (b *dfaBuilder) lay(at int, takers []uint32) {
	var after []uint32
	for class, c := range b.classes {
		after = append(after[:0], uint32(b.prog.Start)) // a match may begin anywhere
		for _, pc := range takers {
			if in := &b.prog.Inst[pc]; in.MatchRune(rune(c)) {
				after = append(after, in.Out)
			}
		}
		b.next[at+class] = b.state(after, 0)
	}
}

// state returns the state for these positions; begin holds the assertions true there.
func (b *dfaBuilder) state(places []uint32, begin syntax.EmptyOp) uint16 {
	if b.follow(places, begin|syntax.EmptyEndText|syntax.EmptyEndLine) {
		b.key = append(b.key[:0], 1)
	} else {
		b.key = append(b.key[:0], 0)
	}
	if b.follow(places, begin) {
		return sure
	}
	if len(b.ready) == 0 && b.key[0] == 0 {
		return lost
	}
	for _, pc := range b.ready {
		b.key = binary.LittleEndian.AppendUint16(b.key, uint16(pc))
	}
	at, ok := b.states[string(b.key)]
	if !ok {
		at = uint16(len(b.next))
		b.states[string(b.key)] = at
		b.next = append(b.next, make([]uint16, b.width)...)
		if b.key[0] == 1 {
			b.next[len(b.next)-1] = sure
		}
		b.waiting = append(b.waiting, slices.Clone(b.ready))
	}
	return at
}

// follow determines, in order, the byte-consuming instructions reachable from places without
// input. It reports whether a match is reached.
func (b *dfaBuilder) follow(places []uint32, holds syntax.EmptyOp) (matched bool) {
	b.number++
	b.places, b.ready = append(b.places[:0], places...), b.ready[:0]
	for len(b.places) > 0 {
		pc := b.places[len(b.places)-1]
		b.places = b.places[:len(b.places)-1]
		if b.seen[pc] == b.number {
			continue
		}
		b.seen[pc] = b.number
		switch in := &b.prog.Inst[pc]; in.Op {
		case syntax.InstMatch:
			return true
		case syntax.InstAlt, syntax.InstAltMatch:
			b.places = append(b.places, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			b.places = append(b.places, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^holds == 0 {
				b.places = append(b.places, in.Out)
			}
		case syntax.InstFail:
		default:
			b.ready = append(b.ready, pc)
		}
	}
	slices.Sort(b.ready)
	return false
}
