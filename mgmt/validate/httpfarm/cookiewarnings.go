package httpfarm

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// cookieWarnings adds warnings about an inserted cookie that browsers discard (RFC 6265bis
// §5.7). Addresses in trusted mean that a proxy in front of the farm may terminate TLS.
func cookieWarnings(h *farm.HTTP, s *farm.Service, add profile.Warn) {
	c, https := s.Cookie, h.TLS != nil
	if c == nil {
		return
	}
	if c.SameSite == farm.SameSiteNone && !https && len(h.Trusted) == 0 {
		add("cookiesamesite", "cookiesamesite none has no effect in browsers, which discard such a cookie from responses without TLS; "+
			"use listener https, or name the proxy that terminates TLS in trusted")
	}
	host := hasPrefix(c.Name, "__Host-")
	if !host && !hasPrefix(c.Name, "__Secure-") {
		return
	}
	discarded := fmt.Sprintf("cookiename %s: browsers discard a cookie with this prefix ", c.Name)
	if !c.Secure(https) {
		add("cookiename", discarded+"unless it is Secure; use listener https, or cookiesamesite none behind a proxy that terminates TLS")
	}
	if host && c.Domain != "" {
		add("cookiedomain", discarded+"if it has a domain; use the prefix __Secure- instead")
	}
	if host && cmp.Or(c.Path, "/") != "/" {
		add("cookiepath", discarded+"unless its path is /; use cookiepath /, or the prefix __Secure-")
	}
}

// hasPrefix compares without regard to case, as browsers do with prefixes of cookie names.
func hasPrefix(name, prefix string) bool {
	return len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix)
}
