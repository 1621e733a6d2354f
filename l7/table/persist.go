package table

import (
	"bytes"
	"encoding/base64"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/state"
)

// Persistence selects the session key of a service.
type Persistence struct {
	Kind farm.Persistence // farm.PersistNone without persistence
	Name []byte           // of the cookie, header or parameter; headers in lower case
	TTL  time.Duration    // lifetime of an unused session
}

func newPersistence(s *farm.Service) Persistence {
	p := Persistence{Kind: s.EffectivePersistence(), Name: []byte(s.SessionID), TTL: time.Duration(nanos(s.TTL))}
	if s.TTL == 0 {
		p.TTL = time.Duration(nanos(farm.DefaultTTL))
	}
	if p.Kind == farm.PersistHeader {
		p.Name = bytes.ToLower(p.Name)
	}
	return p
}

// sessionKey returns the key in the request, valid until the next call.
func (sv *Service) sessionKey(q *Query) []byte {
	q.key = session.AppendKey(q.key[:0], sv.identification(q))
	return q.key
}

// identification returns the client's identification in the request, valid until the next
// head.
func (sv *Service) identification(q *Query) []byte {
	p, r := &sv.Persist, q.Req
	switch p.Kind {
	case farm.PersistIP:
		q.Text = q.Client().AppendTo(q.Text[:0]) // Address holds the peer
		return q.Text
	case farm.PersistBasic:
		return q.user()
	case farm.PersistURL:
		return queryParameter(r.Path, p.Name)
	case farm.PersistParm:
		return pathParameter(r.Path)
	case farm.PersistHeader:
		if i := r.Lookup(string(p.Name)); i >= 0 && r.Visible(i) {
			return r.Value(i)
		}
	case farm.PersistCookie:
		return FindCookie(&r.Head, http1.KnownCookie, p.Name)
	}
	return nil
}

// user returns the user name of basic authentication, valid until the next call.
func (q *Query) user() []byte {
	i := q.Req.Find(http1.KnownAuthorization)
	if i < 0 {
		return nil
	}
	v := q.Req.Value(i)
	const scheme = "basic "
	if len(v) <= len(scheme) || !bytes.EqualFold(v[:len(scheme)], []byte(scheme)) {
		return nil
	}
	v = bytes.TrimSpace(v[len(scheme):])
	n := base64.StdEncoding.DecodedLen(len(v))
	q.Text = slices.Grow(q.Text[:0], n)
	n, err := base64.StdEncoding.Decode(q.Text[:n], v)
	if err != nil {
		return nil
	}
	user, _, _ := bytes.Cut(q.Text[:n], []byte(":"))
	return user
}

func queryParameter(path, name []byte) []byte {
	_, query, _ := bytes.Cut(path, []byte("?"))
	for len(query) > 0 {
		var pair []byte
		pair, query, _ = bytes.Cut(query, []byte("&"))
		if k, v, _ := bytes.Cut(pair, []byte("=")); bytes.Equal(k, name) {
			return v
		}
	}
	return nil
}

func pathParameter(path []byte) []byte {
	path, _, _ = bytes.Cut(path, []byte("?"))
	if i := bytes.LastIndexByte(path, ';'); i >= 0 {
		return path[i+1:]
	}
	return nil
}

// FindCookie returns a cookie's value from the Cookie or Set-Cookie fields of a head.
func FindCookie(h *http1.Head, field http1.Known, name []byte) []byte {
	for i := range h.NumFields {
		if h.Fields[i].Known != field || h.Fields[i].Removed() {
			continue
		}
		for rest := h.Value(i); len(rest) > 0; {
			var value []byte
			if value, rest = nextCookie(rest, name); value != nil {
				return value
			}
			if field == http1.KnownSetCookie {
				break // cookie attributes follow
			}
		}
	}
	return nil
}

// nextCookie splits off the first pair of a cookie list. value is nil unless the pair has
// that name.
func nextCookie(list, name []byte) (value, rest []byte) {
	pair := list
	if i := bytes.IndexByte(list, ';'); i >= 0 {
		pair, rest = list[:i], list[i+1:]
	}
	for len(pair) > 0 && pair[0] == ' ' {
		pair = pair[1:]
	}
	if len(pair) <= len(name) || pair[len(name)] != '=' || string(pair[:len(name)]) != string(name) {
		return nil, rest
	}
	return bytes.Trim(bytes.TrimSpace(pair[len(name)+1:]), `"`), rest
}

// View returns the service's data for a view of its sessions.
func (sv *Service) View() session.View {
	v := session.View{Table: sv.Sessions, TTL: sv.Persist.TTL, Backends: make([]session.Member, len(sv.Backends))}
	for i := range sv.Backends {
		b := &sv.Backends[i]
		v.Backends[i] = session.Member{ID: b.ID, Cut: b.Mode == farm.MaintenanceCut, Static: b.statics}
	}
	return v
}

// DropCut removes the sessions of backends that were cut since the previous table. In
// contrast to drain, cut keeps only static sessions.
func (t *Table) DropCut(before *Table) {
	for _, f := range t.Fresh {
		for i := range f.Services {
			s := &f.Services[i]
			for j := range s.Backends {
				b := &s.Backends[j]
				old := before.Backends.Of(b.ID)
				if b.Mode == farm.MaintenanceCut && s.Sessions != nil && (old == nil || old.Mode != farm.MaintenanceCut) {
					s.Sessions.DropBackend(b.ID)
				}
			}
		}
	}
}

// Fix sets the static sessions of the configuration. Those of unchanged farms are set
// already.
func (t *Table) Fix(r *state.Registry) {
	for _, f := range t.Fresh {
		for i := range f.Services {
			if s := &f.Services[i]; s.Sessions != nil {
				r.Sessions.Of(s.kept).Fix(s.View().Backends)
			}
		}
	}
}

// sweepBudget is the number of sessions of a service examined per sweep.
const sweepBudget = 512

// Sweep removes some expired sessions of each service.
func (t *Table) Sweep() {
	now := session.Now()
	for _, f := range t.ByID {
		for i := range f.Services {
			if s := &f.Services[i]; s.Sessions != nil {
				s.Sessions.Sweep(now, s.Persist.TTL, sweepBudget)
			}
		}
	}
}
