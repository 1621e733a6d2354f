package explain

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l7/table"
)

// recall copies the client's session, if any, into the rehearsal.
func (x *explainer) recall(found, sv *table.Service) (held *session.Session) {
	if found.Sessions == nil {
		return nil
	}
	now := session.Now()
	s, ok := found.Sessions.Peek(x.choice.Key, now, sv.Persist.TTL)
	if !ok {
		return nil
	}
	sv.Sessions.Put(x.choice.Key, s.Backend, now)
	return &s
}

// persistence reports the effect of the session.
func (x *explainer) persistence(found *table.Service, held *session.Session, chosen int, ok bool) {
	if found.Sessions == nil {
		return
	}
	p := &explain.Persistence{Kind: string(found.Persist.Kind), Name: string(found.Persist.Name), Found: held != nil}
	if len(x.choice.Key) > 0 {
		p.Key = shownKey(found.Persist.Kind, x.choice.Key)
	}
	x.Persistence = p
	kept := -1
	if held != nil {
		p.Static = held.Static
		if kept = found.Find(held.Backend); kept >= 0 {
			p.Backend = &found.Backends[kept].Number
		}
	}
	switch {
	case len(x.choice.Key) == 0:
		p.Reason = "the request has nothing the client is recognised by: no session"
	case held == nil && !ok:
		p.Reason = "no session, and no backend it could name"
	case held == nil:
		p.Reason = fmt.Sprintf("no session: one with backend %d would be made", found.Backends[chosen].Number)
	case x.choice.Why == accesslog.WhySession:
		p.Reason = "the session names the backend"
	case p.Backend == nil:
		p.Reason = "the backend of the session is gone"
	default:
		p.Reason = fmt.Sprintf("backend %d of the session cannot be used: %s", *p.Backend, unclaimed(found, kept))
	}
}

// insertedCookie reports the effect of the service's cookie.
func (x *explainer) insertedCookie(sv *table.Service, chosen int, ok bool) {
	if sv.Cookie == nil {
		return
	}
	c := &explain.Cookie{Name: string(sv.Cookie.Name)}
	x.Cookie = c
	if i := x.choice.Cookie - 1; i >= 0 {
		c.Backend = &sv.Backends[i].Number
	}
	switch {
	case x.choice.Why == accesslog.WhyCookie:
		c.Reason = "it names the backend"
	case c.Backend != nil:
		c.Reason = fmt.Sprintf("backend %d it names cannot be used: %s", *c.Backend, unclaimed(sv, x.choice.Cookie-1))
	case ok:
		_, attributes, _ := strings.Cut(strings.TrimSpace(string(sv.Backends[chosen].SetCookie)), "; ")
		c.Reason = fmt.Sprintf("none that names a backend: the response would set one for backend %d (%s)", sv.Backends[chosen].Number, attributes)
	default:
		c.Reason = "none that names a backend"
	}
}

// unclaimed returns why the backend of a session or cookie cannot serve.
func unclaimed(sv *table.Service, i int) string {
	switch {
	case sv.Backends[i].Mode == farm.MaintenanceCut:
		return "it is cut"
	case sv.Picker.Full(i):
		return "it is at its limit"
	case sv.Picker.Member(i).Slot.Ejected():
		return "it is ejected"
	case sv.Picker.Up(i):
		return "others wait for it"
	}
	return "it is down"
}

// shownKey returns a key for display. Secrets of clients are replaced by a digest.
func shownKey(kind farm.Persistence, key []byte) string {
	switch kind {
	case farm.PersistBasic, farm.PersistCookie, farm.PersistHeader:
		sum := sha256.Sum256(key)
		return "sha256:" + hex.EncodeToString(sum[:6])
	}
	return explain.Clip(string(key))
}
