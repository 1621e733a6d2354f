package proxy

import (
	"bytes"
	"encoding/base64"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l7/http1"
)

// maxKey bounds a session key; a longer one is cut, on both sides alike.
const maxKey = 255

// persistence says where the key of a service's sessions is found.
type persistence struct {
	kind farm.Persistence
	name []byte // of the cookie, header or parameter; headers in lower case
	ttl  time.Duration
}

func newPersistence(s *farm.Service) persistence {
	p := persistence{kind: s.EffectivePersistence(), name: []byte(s.SessionID), ttl: time.Duration(nanos(s.TTL))}
	if s.TTL == 0 {
		p.ttl = time.Duration(nanos(farm.DefaultTTL))
	}
	if p.kind == farm.PersistHeader {
		p.name = bytes.ToLower(p.name)
	}
	return p
}

// identify finds what tells the client from others: the hash for consistent
// hashing, and the key of its session when the service keeps sessions.
func (ex *exchange) identify() uint64 {
	if c := ex.service.cookie; c != nil {
		ex.cookie = c.find(&ex.w.req.Head) + 1
	}
	if ex.service.sessions != nil {
		ex.key = append(ex.key[:0], ex.service.sessionKey(&ex.w.query)...)
	}
	if !ex.service.hashed {
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

// sessionKey is the key in the request, valid until the next head.
func (sv *service) sessionKey(q *query) []byte {
	p, r := &sv.persist, q.req
	var key []byte
	switch p.kind {
	case farm.PersistIP:
		key = q.peer()
	case farm.PersistBasic:
		key = q.user()
	case farm.PersistURL:
		key = queryParameter(r.Path, p.name)
	case farm.PersistParm:
		key = pathParameter(r.Path)
	case farm.PersistHeader:
		if i := r.Lookup(string(p.name)); i >= 0 {
			key = r.Value(i)
		}
	case farm.PersistCookie:
		key = cookie(&r.Head, http1.KnownCookie, p.name)
	}
	return key[:min(len(key), maxKey)]
}

// user is the one of basic authentication, valid until the next is asked for.
func (q *query) user() []byte {
	i := q.req.Find(http1.KnownAuthorization)
	if i < 0 {
		return nil
	}
	v := q.req.Value(i)
	const scheme = "basic "
	if len(v) <= len(scheme) || !bytes.EqualFold(v[:len(scheme)], []byte(scheme)) {
		return nil
	}
	v = bytes.TrimSpace(v[len(scheme):])
	n := base64.StdEncoding.DecodedLen(len(v))
	q.text = slices.Grow(q.text[:0], n)
	n, err := base64.StdEncoding.Decode(q.text[:n], v)
	if err != nil {
		return nil
	}
	user, _, _ := bytes.Cut(q.text[:n], []byte(":"))
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

// cookie finds a cookie's value in the Cookie or Set-Cookie fields of a head.
func cookie(h *http1.Head, field http1.Known, name []byte) []byte {
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
				break // what follows are the cookie's attributes
			}
		}
	}
	return nil
}

// nextCookie takes the first pair of a list of cookies: its value if it has that
// name, nil otherwise.
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

// learn takes the session a backend opens in its response: the cookie it
// sets, or the header it sends, is what the client comes back with.
func (ex *exchange) learn() {
	sv := ex.service
	if sv.sessions == nil {
		return
	}
	r := &ex.w.resp
	var key []byte
	switch sv.persist.kind {
	case farm.PersistCookie:
		key = cookie(&r.Head, http1.KnownSetCookie, sv.persist.name)
	case farm.PersistHeader:
		if i := r.Lookup(string(sv.persist.name)); i >= 0 {
			key = r.Value(i)
		}
	}
	if len(key) > 0 {
		sv.sessions.Put(key[:min(len(key), maxKey)], ex.backend.id, session.Now())
		ex.stats().Forgotten += sv.sessions.Forgotten()
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
	keyed := sv.sessions != nil && len(ex.key) > 0
	if keyed {
		if id, ok := sv.sessions.Get(ex.key, session.Now(), sv.persist.ttl); ok {
			if i, ok := ex.follow(id); ok {
				return i, true
			}
		}
	}
	i, ok := sv.picker.Pick(ex.hash, ex.tried)
	if !ok {
		return -1, false
	}
	ex.held, ex.why = sv.picker.Held(i), accesslog.WhyAlgorithm
	if keyed {
		i = ex.remember(i)
	}
	return i, true
}

// follow claims the backend a session names.
func (ex *exchange) follow(id uint32) (int, bool) {
	i := ex.service.find(id)
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
	sv, id, now := ex.service, ex.service.backends[i].id, session.Now()
	owner, added := sv.sessions.PutIfAbsent(ex.key, id, now, sv.persist.ttl)
	if n := sv.sessions.Forgotten(); n > 0 { // an explanation, which counts nothing, displaces none
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
	sv.sessions.Put(ex.key, id, now) // instead of one that cannot be kept
	return i
}

// claim reserves a backend a client belongs to, if it can serve: drained ones
// do, those that were cut do not.
func (ex *exchange) claim(i int) bool {
	sv := ex.service
	if i < 0 || sv.backends[i].mode == modeCut || ex.tried.Has(i) || !sv.picker.Claim(i) {
		return false
	}
	ex.held = sv.picker.Held(i)
	return true
}

// find is the position of the backend with that number, -1 when it is gone.
func (sv *service) find(id uint32) int {
	if i, ok := sv.at[id]; ok {
		return i
	}
	return -1
}
