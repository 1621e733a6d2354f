package format

import (
	"regexp"
	"strings"
)

// FarmName matches names of farms. They never start with a hyphen, which a command line would
// read as an option.
var FarmName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9-]*$`)

// ServiceName matches names of services.
var ServiceName = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9_-]*$`)

// Alias matches aliases, which appear in tables, mails and pages. They contain no characters special to a
// shell, path or page, and none that look alike.
var Alias = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9 ._:@()+,#-]*$`)

// Token matches a token of HTTP (RFC 9110 §5.6.2).
var Token = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// Printable rejects control characters.
func Printable(s string) string {
	if strings.IndexFunc(s, IsControl) >= 0 {
		return "it holds a control character"
	}
	return ""
}

// IsControl reports whether a character is an ASCII control character.
func IsControl(r rune) bool { return r < 0x20 || r == 0x7f }
