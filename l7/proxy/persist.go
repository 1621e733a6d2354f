package proxy

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/table"
)

// identify finds what tells the client from others: the hash for consistent
// hashing, and the key of its session when the service keeps sessions.
func (ex *exchange) identify() uint64 {
	if c := ex.service.Cookie; c != nil {
		ex.cookie = c.Find(&ex.w.req.Head) + 1
	}
	if ex.service.Sessions != nil {
		ex.key = append(ex.key[:0], ex.service.SessionKey(&ex.w.query)...)
	}
	if !ex.service.Hashed {
		return 0
	}
	return hash(ex.client.conn.Peer().Addr().AsSlice())
}

// hash is FNV-1a, finished so that all bits depend on all bytes.
func hash(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}

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

// pick chooses the backend: the one of the client's cookie or session while it
// can serve, else what the policy says.
func (ex *exchange) pick() (int, bool) {
	sv := ex.service
	if ex.cookie > 0 && ex.claim(ex.cookie-1) {
		ex.why = accesslog.WhyCookie
		return ex.cookie - 1, true
	}
	keyed := sv.Sessions != nil && len(ex.key) > 0
	if keyed {
		if id, ok := sv.Sessions.Get(ex.key, session.Now(), sv.Persist.TTL); ok {
			if i, ok := ex.follow(id); ok {
				return i, true
			}
		}
	}
	i, ok := sv.Picker.Pick(ex.hash, ex.tried)
	if !ok {
		return -1, false
	}
	ex.held, ex.why = sv.Picker.Held(i), accesslog.WhyAlgorithm
	if keyed {
		i = ex.remember(i)
	}
	return i, true
}

// follow claims the backend a session names.
func (ex *exchange) follow(id uint32) (int, bool) {
	i := ex.service.Find(id)
	if !ex.claim(i) {
		return -1, false
	}
	ex.why = accesslog.WhySession
	ex.recordFlag(accesslog.Session)
	return i, true
}

// remember makes a session of a choice and returns what became of that: of two
// loops that see a new client at once the later one follows the other.
func (ex *exchange) remember(i int) int {
	sv, id, now := ex.service, ex.service.Backends[i].ID, session.Now()
	owner, added := sv.Sessions.PutIfAbsent(ex.key, id, now, sv.Persist.TTL)
	if n := sv.Sessions.Forgotten(); n > 0 { // an explanation, which counts nothing, displaces none
		ex.stats().Forgotten += n
	}
	if added || owner == id {
		return i
	}
	own := ex.held
	if first, ok := ex.follow(owner); ok {
		own.Done()
		return first
	}
	sv.Sessions.Put(ex.key, id, now) // instead of one that cannot be kept
	return i
}

// claim reserves a backend a client belongs to, if it can serve: drained ones
// do, those that were cut do not.
func (ex *exchange) claim(i int) bool {
	sv := ex.service
	if i < 0 || sv.Backends[i].Mode == farm.MaintenanceCut || ex.tried.Has(i) || !sv.Picker.Claim(i) {
		return false
	}
	ex.held = sv.Picker.Held(i)
	return true
}
