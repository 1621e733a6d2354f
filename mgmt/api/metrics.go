package api

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"

	"github.com/sluicelb/sluice/mgmt/accesslog"
	"github.com/sluicelb/sluice/mgmt/api/people"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// MetricsPath is where scrapers look: not below a base, because they all do.
const MetricsPath = "/metrics"

// Watching is what the API needs to show what the engine does.
type Watching struct {
	// Metrics answers GET /metrics; nil when there are none.
	Metrics http.Handler
	// OpenMetrics lets programs of this machine scrape without a key.
	OpenMetrics bool
	// Watch shows exchanges of a farm as they end; nil when that is not possible.
	Watch func(farm uint32, filter accesslog.Filter) (*accesslog.Watcher, error)
	// Tally counts the questions of a gslb farm; nil when that is not possible.
	Tally func(farm uint32) (*accesslog.Tally, error)
}

// metrics answers a scrape, and reports whether it was one. The key may come as
// Authorization: Bearer too, because that is what every scraper can send.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path != MetricsPath || s.deps.Metrics == nil {
		return false
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		s.refuse(w, r, rest.Refuse(http.StatusMethodNotAllowed, "the path %s does not take %s: allowed is GET", MetricsPath, rest.Quote(r.Method)))
		return true
	}
	by, err := s.guard.Identify(withBearer(r))
	if err == nil {
		identified(r, by)
	}
	cfg, _ := s.deps.Applier.Current()
	switch {
	case err == nil && by.May(rbac.SystemMenu) && !rest.SeesAll(by, cfg):
		s.refuse(w, r, rest.NotOfAll())
	case err == nil && by.May(rbac.SystemMenu), errors.Is(err, auth.ErrNoCredential) && s.deps.OpenMetrics && fromHere(r):
		s.deps.Metrics.ServeHTTP(w, r)
	case err != nil:
		s.refuse(w, r, people.Unauthorized(s.deps.Log, r, err))
	default:
		s.refuse(w, r, rest.Refuse(http.StatusForbidden, "you may not do this: the permission %q is needed", rbac.SystemMenu))
	}
	return true
}

// withBearer makes a bearer token the key, unless there is one.
func withBearer(r *http.Request) *http.Request {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || auth.KeyUsed(r) || !strings.EqualFold(scheme, "Bearer") {
		return r
	}
	r = r.Clone(r.Context())
	r.Header.Set("ZAPI_KEY", strings.TrimSpace(token))
	return r
}

// fromHere reports whether the request came over the loopback interface, and
// from no proxy there: that would speak for others.
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
