package farm

import "strings"

// IsHostName reports whether the pattern of a service for hosts is a name, perhaps
// with a port, and no regex besides "\." and "\-". Such a pattern matches the whole
// host, others match what hosts begin with, and so does what ends where a name goes
// on ("www\.").
func IsHostName(pattern string) bool {
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		if c == '\\' && i+1 < len(pattern) && (pattern[i+1] == '.' || pattern[i+1] == '-') {
			i++
			continue
		}
		if c-'0' >= 10 && (c|0x20)-'a' >= 26 && c != '.' && c != '-' && c != '_' && c != ':' {
			return false
		}
	}
	return pattern != "" && !strings.ContainsRune(".-:", rune(pattern[len(pattern)-1]))
}

// HostPattern returns the regex to which a pattern of a service for hosts amounts. A name
// matches the whole host. Hosts are compared without the dot that may end them, so a dot
// at the end of a pattern ("\.$") is left out: it would never match.
func HostPattern(pattern string) string {
	if IsHostName(pattern) {
		return pattern + "$"
	}
	if rest, is := strings.CutSuffix(pattern, `\.$`); is && !strings.HasSuffix(rest, `\`) {
		return rest + "$"
	}
	return pattern
}
