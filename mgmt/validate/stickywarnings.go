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
	ServiceDocument.waitingWarnings(s, add)
	if kept := s.EffectivePersistence(); s.Cookie != nil && kept != farm.PersistNone {
		add("cookieinsert", fmt.Sprintf("cookieinsert has no effect while persistence is %s, which chooses the backend; set persistence NONE, or cookieinsert false", kept))
	}
}
