package api

import (
	"fmt"
	"net"
	"regexp"
	"strings"
)

var hostForm = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\.?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)

// validHost reports whether a Host header is a name or an address.
func validHost(host string) bool { return len(host) <= 262 && hostForm.MatchString(host) }

func hostOnly(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// quotePath shows a path of the client: cut, and quoted when it is odd.
func quotePath(path string) string {
	const limit = 200
	if len(path) > limit {
		path = strings.ToValidUTF8(path[:limit], "") + "…"
	}
	if q := fmt.Sprintf("%q", path); q != `"`+path+`"` {
		return q
	}
	return path
}
