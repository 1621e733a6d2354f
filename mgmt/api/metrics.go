package api

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"

	"github.com/sluicelb/sluice/mgmt/api/people"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// MetricsPath is the path for scrapers. It is not below a base path, because all scrapers
// expect it here.
const MetricsPath = "/metrics"

// metrics serves a scrape and reports whether the request was one. The key may also come as
// Authorization: Bearer, which every scraper supports.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path != MetricsPath || s.host.Metrics == nil {
		return false
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		s.refuse(w, r, rest.Refuse(http.StatusMethodNotAllowed, "the path %s does not take %s: allowed is GET", MetricsPath, rest.Quote(r.Method)))
		return true
	}
	by, err := s.host.Guard.Identify(withBearer(r))
	if err == nil {
		identified(r, by)
	}
	switch {
	case err == nil && by.May(rbac.SystemMenu) && !rest.SeesAll(by, s.host.current()):
		s.refuse(w, r, rest.NotOfAll())
	case err == nil && by.May(rbac.SystemMenu), errors.Is(err, auth.ErrNoCredential) && s.host.OpenMetrics && fromHere(r):
		s.host.Metrics.ServeHTTP(w, r)
	case err != nil:
		s.refuse(w, r, people.Unauthorized(s.host.Log, r, err))
	default:
		s.refuse(w, r, rest.Refuse(http.StatusForbidden, "you may not do this: the permission %q is needed", rbac.SystemMenu))
	}
	return true
}

// withBearer turns a bearer token into the key, unless there is one.
func withBearer(r *http.Request) *http.Request {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || auth.KeyUsed(r) || !strings.EqualFold(scheme, "Bearer") {
		return r
	}
	r = r.Clone(r.Context())
	r.Header.Set("ZAPI_KEY", strings.TrimSpace(token))
	return r
}

// fromHere reports whether the request came over the loopback interface, but not through a
// local proxy, which would forward foreign requests.
func fromHere(r *http.Request) bool {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !at.Addr().Unmap().IsLoopback() {
		return false
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if len(r.Header.Values(name)) > 0 {
			return false
		}
	}
	return true
}
