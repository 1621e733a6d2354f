package http1

import (
	"encoding/binary"
	"math/bits"
)

// Eight bytes are examined with one load. Bytes below a bound or equal to a value get their
// high bit set. The arithmetic may also mark bytes above the first hit but never below it,
// so the lowest mark is exact ("Bit Twiddling Hacks", S. E. Anderson, hasless and haszero).
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// firstControl returns the index of the first control byte of b (below SP, or DEL), or
// len(b).
//
// The first loop only tests whether 16 bytes are plain ASCII, which takes half the work:
// x-0x20 and x+1 both keep the high bits clear.
func firstControl(b []byte) int {
	p := b
	for len(p) >= 16 {
		x, y := binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])
		if ((x-ones*0x20)|(x+ones)|(y-ones*0x20)|(y+ones))&highs != 0 {
			break
		}
		p = p[16:]
	}
	for len(p) >= 8 {
		x := binary.LittleEndian.Uint64(p)
		d := x ^ ones*0x7f
		if m := ((x-ones*0x20)&^x | (d-ones)&^d) & highs; m != 0 {
			return len(b) - len(p) + bits.TrailingZeros64(m)>>3
		}
		p = p[8:]
	}
	for j, c := range p {
		if c < 0x20 || c == 0x7f {
			return len(b) - len(p) + j
		}
	}
	return len(b)
}

// textEnd is firstControl with tabs allowed.
func textEnd(b []byte) int {
	i := firstControl(b)
	for i < len(b) && b[i] == '\t' {
		i++
		i += firstControl(b[i:])
	}
	return i
}

// firstColon returns the index of the first ':' of b, or len(b).
func firstColon(b []byte) int {
	p := b
	for len(p) >= 8 {
		x := binary.LittleEndian.Uint64(p) ^ ones*':'
		if m := (x - ones) &^ x & highs; m != 0 {
			return len(b) - len(p) + bits.TrailingZeros64(m)>>3
		}
		p = p[8:]
	}
	for j, c := range p {
		if c == ':' {
			return len(b) - len(p) + j
		}
	}
	return len(b)
}

// queryEnd returns the index of the first byte of b[i:] that is invalid in a query (a
// control byte, SP, '#' or DEL), or len(b).
func queryEnd(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		d := x ^ ones*0x7f
		f := x ^ ones*'#'
		if m := ((x-ones*0x21)&^x | (d-ones)&^d | (f-ones)&^f) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c <= 0x20 || c == 0x7f || c == '#' {
			return i
		}
	}
	return i
}

// Classes of bytes in a target, one bit each; 0 is canonical in any position.
const (
	targetSlash  = 1 << iota
	targetSecond // not canonical after a slash: '/', and '.', which may start a dot segment
	targetSlow   // not canonical, or undecided
	targetParam  // ';': canonical, but some backends ignore the rest of the segment
	targetQuery  // '?'
	targetStop   // control bytes, SP, '#'
)

var targetByte = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c <= 0x20 || c == 0x7f || c == '#':
			t[c] = targetStop
		case c >= 0x80 || c == '%' || c == '\\':
			t[c] = targetSlow
		case c == '/':
			t[c] = targetSlash | targetSecond
		case c == '.':
			t[c] = targetSecond
		case c == ';':
			t[c] = targetParam
		case c == '?':
			t[c] = targetQuery
		}
	}
	return t
}()

// targetEnd returns the index of the first byte of b[i:] that is invalid in a target, or
// len(b), and the shape of the target. The shape is 0 for a canonical path and query without
// other readings, and targetParam for other canonical ones. The loop branches only at its
// end, because the positions of slashes are unpredictable.
func targetEnd(b []byte, i int) (end int, shape uint8) {
	if i == len(b) {
		return i, targetSlow
	}
	found, before := uint8(0), uint8(0)
	if b[i] != '/' {
		found = targetSlow
	}
	for ; i < len(b); i++ {
		k := targetByte[b[i]]
		if k >= targetQuery {
			if k == targetQuery {
				i = queryEnd(b, i+1)
			}
			break
		}
		found |= before<<1&k&targetSecond | k&(targetSlow|targetParam)
		before = k
	}
	return i, found
}

// Classes of bytes in tokens (RFC 9110 section 5.6.2).
const (
	tokenPlain = 1 // letters, digits, '-'
	tokenOdd   = 2 // the other characters of a token
	tokenNot   = 4 // everything else
)

// token maps bytes to their class.
var token = func() (t [256]uint8) {
	for c := range t {
		t[c] = tokenNot
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = tokenPlain
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-0x20] = tokenPlain, tokenPlain
	}
	t['-'] = tokenPlain
	for _, c := range "!#$%&'*+.^_`|~" {
		t[c] = tokenOdd
	}
	return t
}()

// Token reports whether b is a token: a name of a field, a cookie, a parameter.
func Token(b []byte) bool { return isToken(b) }

// isToken reports whether b is a token.
func isToken(b []byte) bool {
	for _, c := range b {
		if token[c] == tokenNot {
			return false
		}
	}
	return len(b) > 0
}

// foldIs reports whether b, which consists of token characters, equals lower if case is
// ignored. Among token characters, |0x20 maps only letters to letters, and only '-' to '-'.
func foldIs(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i := 0; i < len(b) && i < len(lower); i++ {
		if b[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// trim cuts blanks off both ends of b.
func trim(b []byte) []byte {
	for len(b) > 0 && isBlank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isBlank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}
