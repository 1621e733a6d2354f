package api

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/sluicelb/sluice/mgmt/api/system"
)

// Developing reports whether a request comes from a page of a web interface under
// development: the setting is on, and the page is on a loopback address. Other pages are
// never admitted.
func (h *Host) Developing(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return origin != "" && onLoopback(origin) && system.Develops(h.Settings)
}

// onLoopback reports whether an origin is on a loopback address, i.e. on the browser's
// machine.
func onLoopback(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return false
	}
	host := u.Hostname()
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback()
}
