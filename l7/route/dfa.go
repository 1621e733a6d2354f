package route

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
)

// Bounds of what decides about plain input in the place of an expression. Where
// one is passed the expression itself is asked, which takes some ten times as long.
const (
	maxDFA       = 4 << 10   // slots of one pattern, two bytes each
	maxDFAs      = 256 << 10 // slots of all patterns of a table, some hundreds of usual ones
	maxDFASteps  = 500       // instructions of a program that is read
	maxDFAStates = 200
)

// dfa decides about plain input with one look-up for each byte: a state stands for
// all places of the program at which the expression could be. It says whether
// something matches, never where.
type dfa struct {
	class [128]uint8 // of a byte: what the pattern treats alike has one class
	width int        // slots of a state: one for each class, and one for the end
	next  []uint16   // state + class → state; a state is where its slots begin
}

// States that need no slots of their own.
const (
	lost uint16 = iota // nothing matches, whatever follows
	sure               // something matches, whatever follows
)

// match reports whether the expression matches in s, which is plain.
func (d *dfa) match(s []byte) bool {
	at := uint16(d.width) // the first, behind the slots nobody uses
	for _, b := range s {
		if at = d.next[int(at)+int(d.class[b&0x7f])]; at <= sure {
			return at == sure
		}
	}
	return d.next[int(at)+d.width-1] == sure
}

// dfaBuilder makes the dfa of a program, state by state.
type dfaBuilder struct {
	dfa
	prog    *syntax.Prog
	classes []byte            // a byte of each class
	states  map[string]uint16 // by what they stand for
	waiting [][]uint32        // instructions that take a byte, by state that has no slots yet

	// What follow needs: the instructions it has seen, by its number.
	seen          []uint32
	number        uint32
	places, ready []uint32
	key           []byte
}

// newDFA returns the dfa of a pattern with at most so many slots, nil when it has
// none: when it asks for word boundaries or passes a bound.
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
		return nil // any input decides: not worth one
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

// takesByte reports whether an instruction takes a byte.
func takesByte(i *syntax.Inst) bool {
	return i.Op == syntax.InstRune || i.Op == syntax.InstRune1 || i.Op == syntax.InstRuneAny || i.Op == syntax.InstRuneAnyNotNL
}

// classify sorts the plain bytes by which instructions take them.
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

// state returns the state of being at these places; begin is what holds there.
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

// follow finds the instructions that take a byte which are reached from places
// without taking one, in order, and reports whether a match is.
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
