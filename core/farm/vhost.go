package farm

import "strings"

// IsHostName reports whether the host pattern of a service is a plain name, optionally
// with a port. It may contain the escapes "\." and "\-". Such a pattern must match the
// whole host. Others match a prefix, and so does a pattern that ends within a name
// ("www\.", "www."). A name of several labels may end in a dot ("www.example.com."), as in
// the DNS.
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
	if rest, is := strings.CutSuffix(pattern, "."); is && strings.Contains(rest, ".") {
		pattern = rest
	}
	return pattern != "" && !strings.ContainsRune(`.-:\`, rune(pattern[len(pattern)-1]))
}

// HostPattern returns the regex for a host pattern of a service. A name matches the whole
// host. Hosts are compared without a final dot. A final dot of a name ("www.example.com.",
// "www.example.com.:8443") or of a pattern ("\.$") would never match, so it is removed.
func HostPattern(pattern string) string {
	if IsHostName(pattern) {
		name, port, has := strings.Cut(pattern, ":")
		name = strings.TrimSuffix(strings.TrimSuffix(name, "."), `\`)
		if has {
			name += ":" + port
		}
		return name + "$"
	}
	if rest, is := strings.CutSuffix(pattern, `\.$`); is && !strings.HasSuffix(rest, `\`) {
		return rest + "$"
	}
	return pattern
}
