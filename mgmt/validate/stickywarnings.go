package validate

import (
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
)

// stickyWarnings adds what has no effect yet of the fields that keep clients on
// their backend. Clients send them one by one, in any order, so none is refused
// because another one is still missing.
func stickyWarnings(s *farm.Service, add func(field, text string)) {
	kind := s.Persistence
	if kind.Named() && s.SessionID == "" {
		names := map[farm.Persistence]string{farm.PersistURL: "parameter", farm.PersistCookie: "cookie", farm.PersistHeader: "header"}
		add("persistence", fmt.Sprintf("persistence %s has no effect yet: sessionid names the %s; set sessionid", kind, names[kind]))
	}
	if s.TTL != 0 && kind == farm.PersistNone {
		add("ttl", "ttl has no effect without persistence; set persistence")
	}
	switch {
	case s.SessionID == "" || kind.Named():
	case kind == farm.PersistNone:
		add("sessionid", "sessionid has no effect without persistence; set persistence URL, COOKIE or HEADER")
	default:
		add("sessionid", fmt.Sprintf("sessionid has no effect while persistence is %s, only with URL, COOKIE and HEADER", kind))
	}
	if kept := s.EffectivePersistence(); s.Cookie != nil && kept != farm.PersistNone {
		add("cookieinsert", fmt.Sprintf("cookieinsert has no effect while persistence is %s, which chooses the backend; set persistence NONE, or cookieinsert false", kept))
	}
}
