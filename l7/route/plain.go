package route

import "encoding/binary"

// Eight bytes at a time: a sum reaches the high bit of its byte exactly when
// the byte is at or above the bound. Sums of bytes below 0x80 never carry; a
// byte above sets its own high bit anyway.
const (
	ones  = 0x0101010101010101
	high  = 0x80 * ones
	blank = (0x80 - ' ') * ones // ≥ ' '
	del   = (0x80 - 0x7f) * ones
	fromA = (0x80 - 'A') * ones
	pastZ = (0x80 - ('Z' + 1)) * ones
)

// odd is not 0 when one of eight bytes is no printable ASCII.
func odd(x uint64) uint64 { return (x | ^(x + blank) | (x + del)) & high }

// upper is not 0 when one of eight printable bytes is an upper-case letter.
func upper(x uint64) uint64 { return (x + fromA) &^ (x + pastZ) & high }

// plainTarget reports whether s is printable ASCII.
func plainTarget(s []byte) bool {
	var bad uint64
	for ; len(s) >= 8; s = s[8:] {
		bad |= odd(binary.LittleEndian.Uint64(s))
	}
	return bad|odd(rest(s)) == 0
}

// plainHost reports whether s is printable ASCII without upper-case letters.
func plainHost(s []byte) bool {
	var bad uint64
	for ; len(s) >= 8; s = s[8:] {
		x := binary.LittleEndian.Uint64(s)
		bad |= odd(x) | upper(x)
	}
	x := rest(s)
	return bad|odd(x)|upper(x) == 0
}

// rest packs fewer than eight bytes, filled up with blanks.
func rest(s []byte) uint64 {
	x := uint64(' ' * ones)
	for _, b := range s {
		x = x<<8 | uint64(b)
	}
	return x
}

// bareLen returns the length of the host without its port. The colons inside
// the brackets of an IPv6 address are no port's.
func bareLen(host []byte) int {
	i := len(host)
	for i > 0 && host[i-1] >= '0' && host[i-1] <= '9' {
		i--
	}
	if i > 0 && host[i-1] == ':' {
		return i - 1
	}
	return len(host)
}
