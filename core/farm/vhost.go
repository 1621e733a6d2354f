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
