package rules

import (
	"fmt"
	"strings"
)

// quoted is an interface's name as nft takes it, which knows no escapes.
func quoted(device string) string { return `"` + device + `"` }

// Nameable reports whether nft can be told of an interface: the kernel lets
// names have any character but blanks, colons and slashes.
func Nameable(device string) bool {
	return !strings.ContainsFunc(device, func(r rune) bool { return r == '"' || r < ' ' || r == 0x7f })
}

// plainName is an interface's name as part of a chain's; several may look alike
// no more than by their unusual characters, so those are written as numbers.
func plainName(device string) string {
	var b strings.Builder
	for i := range len(device) {
		switch c := device[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}
