package accesslog

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// plain returns how many bytes at the start of b need no escape in any format: printable
// ASCII except the quote and the backslash.
func plain(b []byte) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(b)-i >= 8; i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, slash := x^'"'*ones, x^'\\'*ones
		// The high bit is set for each byte above 0x7e or below 0x20, and for a quote or a
		// backslash. Bytes after such a byte may have it too, so only the first one counts.
		odd := (x | (x + ones) | (x - 0x20*ones) | (quote - ones) | (slash - ones)) & high
		if odd != 0 {
			return i + bits.TrailingZeros64(odd)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			return i
		}
	}
	return i
}

// appendJSON appends b as the inside of a JSON string in ASCII. Invalid UTF-8 becomes
// U+FFFD.
func appendJSON(dst, b []byte) []byte {
	for {
		n := plain(b)
		dst = append(dst, b[:n]...)
		if b = b[n:]; len(b) == 0 {
			return dst
		}
		c := b[0]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
			b = b[1:]
		case c < utf8.RuneSelf:
			dst = appendUnit(dst, uint16(c))
			b = b[1:]
		default:
			r, size := utf8.DecodeRune(b)
			if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
				dst = appendUnit(appendUnit(dst, uint16(hi)), uint16(lo))
			} else {
				dst = appendUnit(dst, uint16(r))
			}
			b = b[size:]
		}
	}
}

func appendUnit(dst []byte, u uint16) []byte {
	return append(dst, '\\', 'u', hexDigits[u>>12], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}

// appendQuoted appends b as the inside of a quoted field of a combined log, with the
// escapes of Apache: \" \\ and \xhh.
func appendQuoted(dst, b []byte) []byte {
	for {
		n := plain(b)
		dst = append(dst, b[:n]...)
		if b = b[n:]; len(b) == 0 {
			return dst
		}
		if c := b[0]; c == '"' || c == '\\' {
			dst = append(dst, '\\', c)
		} else {
			dst = append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		}
		b = b[1:]
	}
}
