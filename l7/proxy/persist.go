package proxy

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/table"
)

// learn takes the session a backend opens in its response: the cookie it
// sets, or the header it sends, is what the client comes back with.
func (ex *exchange) learn() {
	sv := ex.service
	if sv.Sessions == nil {
		return
	}
	r := &ex.w.resp
	var key []byte
	switch sv.Persist.Kind {
	case farm.PersistCookie:
		key = table.FindCookie(&r.Head, http1.KnownSetCookie, sv.Persist.Name)
	case farm.PersistHeader:
		if i := r.Lookup(string(sv.Persist.Name)); i >= 0 {
			key = r.Value(i)
		}
	}
	if len(key) > 0 {
		sv.Sessions.Put(key[:min(len(key), table.MaxKey)], ex.backend.ID, session.Now())
		ex.stats().Forgotten += sv.Sessions.Forgotten()
	}
}

// pick chooses the backend, and counts what that costs others.
func (ex *exchange) pick() (int, bool) {
	i, ok := ex.Pick(ex.service)
	if ex.Keyed(ex.service) {
		if n := ex.service.Sessions.Forgotten(); n > 0 { // an explanation, which counts nothing, displaces none
			ex.stats().Forgotten += n
		}
		if ok && ex.Why == accesslog.WhySession {
			ex.recordFlag(accesslog.Session)
		}
	}
	return i, ok
}
