package rewrite

import (
	"bytes"
	"regexp/syntax"
	"unicode/utf8"
)

// The matcher follows a program depth first, preferred branch first, and visits each
// instruction at most once per position, because a second visit would fail again. This is
// the algorithm of regexp's backtracker (RE2's BitState), with reused memory. Time and
// memory are bounded by the size of the program times the length of the text.

// maxVisits bounds the pairs of instruction and position, one bit each: 32 KiB.
const maxVisits = 256 << 10

// Scratch is the working memory of rules. It belongs to one loop; the zero value is ready.
// It holds the changes to a head until Reset.
type Scratch struct {
	text    []byte
	line    []byte
	visited []uint64
	jobs    []job

	observer Observer // only for explanations
}

// job is a position to continue from. With back, either pos is the previous value of a
// group, or the second branch must be followed.
type job struct {
	pc   uint32
	back bool
	pos  int
}

// maxKept bounds the text buffer kept for the next head.
const maxKept = 64 << 10

// Reset discards the changes to the last head.
func (s *Scratch) Reset() {
	if cap(s.text) > maxKept {
		s.text = nil
	}
	s.text = s.text[:0]
}

// find is Pattern.Find for texts within maxVisits.
func (s *Scratch) find(p *Pattern, b []byte, g *Groups) bool {
	words := (len(p.prog.Inst)*(len(b)+1) + 63) / 64
	if words > cap(s.visited) {
		s.visited = make([]uint64, words+words/2)
	}
	s.visited = s.visited[:words]
	clear(s.visited)
	for i := range g {
		g[i] = -1
	}
	for at := 0; at <= len(b); at++ {
		if len(p.prefix) > 0 && !p.anchored {
			i := bytes.Index(b[at:], p.prefix)
			if i < 0 {
				return false
			}
			at += i
		}
		if s.try(p.prog, b, at, g) {
			g[0] = at
			return true
		}
		if p.anchored {
			return false
		}
		if at < len(b) && b[at] >= utf8.RuneSelf {
			_, width := utf8.DecodeRune(b[at:])
			at += width - 1
		}
	}
	return false
}

// visit reports whether an instruction is visited at a position for the first time.
func (s *Scratch) visit(pc uint32, at, length int) bool {
	n := uint(pc)*uint(length+1) + uint(at)
	word, bit := &s.visited[n/64], uint64(1)<<(n%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

// try searches for a match that begins at one position. The switch is a state table.
func (s *Scratch) try(prog *syntax.Prog, b []byte, at int, g *Groups) bool {
	s.jobs = append(s.jobs[:0], job{pc: uint32(prog.Start), pos: at})
jobs:
	for len(s.jobs) > 0 {
		j := s.jobs[len(s.jobs)-1]
		s.jobs = s.jobs[:len(s.jobs)-1]
		pc, pos := j.pc, j.pos
		inst := &prog.Inst[pc]
		if j.back {
			if inst.Op == syntax.InstCapture {
				g[inst.Arg] = pos
				continue
			}
			pc = inst.Arg
		}
		for s.visit(pc, pos, len(b)) {
			inst = &prog.Inst[pc]
			switch inst.Op {
			case syntax.InstMatch:
				g[1] = pos
				return true
			case syntax.InstAlt, syntax.InstAltMatch:
				s.jobs = append(s.jobs, job{pc: pc, pos: pos, back: true})
			case syntax.InstCapture:
				if inst.Arg < uint32(len(g)) {
					s.jobs = append(s.jobs, job{pc: pc, pos: g[inst.Arg], back: true})
					g[inst.Arg] = pos
				}
			case syntax.InstEmptyWidth:
				if need := syntax.EmptyOp(inst.Arg); context(b, pos)&need != need {
					continue jobs
				}
			case syntax.InstNop:
			default:
				width := step(inst, b, pos)
				if width == 0 {
					continue jobs
				}
				pos += width
			}
			pc = inst.Out
		}
	}
	return false
}

// step returns the length of the character at a position if the instruction matches it, else
// 0.
func step(inst *syntax.Inst, b []byte, pos int) int {
	if pos == len(b) {
		return 0
	}
	r, width := rune(b[pos]), 1
	if r >= utf8.RuneSelf {
		r, width = utf8.DecodeRune(b[pos:])
	}
	switch inst.Op {
	case syntax.InstRune1:
		if r != inst.Rune[0] {
			return 0
		}
	case syntax.InstRuneAny:
	case syntax.InstRuneAnyNotNL:
		if r == '\n' {
			return 0
		}
	case syntax.InstRune:
		if !inst.MatchRune(r) {
			return 0
		}
	default: // InstFail
		return 0
	}
	return width
}

// context returns the assertions that hold between two characters.
func context(b []byte, pos int) syntax.EmptyOp {
	before, after := rune(-1), rune(-1)
	if pos > 0 {
		before, _ = utf8.DecodeLastRune(b[:pos])
	}
	if pos < len(b) {
		after, _ = utf8.DecodeRune(b[pos:])
	}
	return syntax.EmptyOpContext(before, after)
}
