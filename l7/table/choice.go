package table

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
)

// Choice is how the backend of a request is found: what tells its client from
// others, what was tried, and what came of it.
type Choice struct {
	hash   uint64        // of the client, for consistent hashing
	Cookie int           // the backend the client's cookie names, its position + 1; 0 for none
	Key    []byte        // of the client's session; empty for none
	Tried  balance.Tried // backends that are of no use to the request
	Held   *balance.Load // what the picker reserved for it
	Why    accesslog.Why // how the backend was found
}

// identify finds what tells the client of the request from others.
func (c *Choice) identify(q *Query, s *Service) {
	if s.Cookie != nil {
		c.Cookie = s.Cookie.find(&q.Req.Head) + 1
	}
	if s.Sessions != nil {
		c.Key = append(c.Key[:0], s.sessionKey(q)...)
	}
	if s.hashed {
		c.hash = hash(q.Conn.Peer().Addr().AsSlice())
	}
}

// Keyed reports whether the client has, or will have, a session.
func (c *Choice) Keyed(s *Service) bool { return s.Sessions != nil && len(c.Key) > 0 }

// Pick chooses the backend: the one of the client's cookie or session while it
// can serve, else what the policy says.
func (c *Choice) Pick(s *Service) (int, bool) {
	if c.Cookie > 0 && c.Claim(s, c.Cookie-1) {
		c.Why = accesslog.WhyCookie
		return c.Cookie - 1, true
	}
	if c.Keyed(s) {
		if id, ok := s.Sessions.Get(c.Key, session.Now(), s.Persist.TTL); ok {
			if i, ok := c.follow(s, id); ok {
				return i, true
			}
		}
	}
	i, ok := s.Picker.Pick(c.hash, c.Tried)
	if !ok {
		return -1, false
	}
	c.Held, c.Why = s.Picker.Held(i), accesslog.WhyAlgorithm
	if c.Keyed(s) {
		i = c.remember(s, i)
	}
	return i, true
}

// follow claims the backend a session names.
func (c *Choice) follow(s *Service, id uint32) (int, bool) {
	i := s.Find(id)
	if !c.Claim(s, i) {
		return -1, false
	}
	c.Why = accesslog.WhySession
	return i, true
}

// remember makes a session of a choice and returns what became of that: of two
// loops that see a new client at once the later one follows the other.
func (c *Choice) remember(s *Service, i int) int {
	id, now := s.Backends[i].ID, session.Now()
	owner, added := s.Sessions.PutIfAbsent(c.Key, id, now, s.Persist.TTL)
	if added || owner == id {
		return i
	}
	own := c.Held
	if first, ok := c.follow(s, owner); ok {
		own.Done()
		return first
	}
	s.Sessions.Put(c.Key, id, now) // instead of one that cannot be kept
	return i
}

// Claim reserves a backend a client belongs to, if it can serve: drained ones
// do, those that were cut do not.
func (c *Choice) Claim(s *Service, i int) bool {
	if i < 0 || s.Backends[i].Mode == farm.MaintenanceCut || c.Tried.Has(i) || !s.Picker.Claim(i) {
		return false
	}
	c.Held = s.Picker.Held(i)
	return true
}

// Belongs is the backend the client's cookie or session names; -1 for none.
func (c *Choice) Belongs(s *Service) int {
	if c.Cookie > 0 {
		return c.Cookie - 1
	}
	if c.Keyed(s) {
		if id, ok := s.Sessions.Get(c.Key, session.Now(), s.Persist.TTL); ok {
			return s.Find(id)
		}
	}
	return -1
}

// MoveTo makes the choice one among the backends of s, which is the service of
// another table.
func (c *Choice) MoveTo(s, old *Service, client netip.Addr) {
	if c.Cookie > 0 {
		c.Cookie = s.Find(old.Backends[c.Cookie-1].ID) + 1
	}
	if s.Sessions == nil || s.Persist.Kind != old.Persist.Kind || string(s.Persist.Name) != string(old.Persist.Name) {
		c.Key = c.Key[:0]
	}
	if s.hashed {
		c.hash = hash(client.AsSlice())
	}
}

// MayWait reports whether there is something to wait for in the queue, when no
// backend was to be had: room at one that is usable.
func (c *Choice) MayWait(s *Service) bool {
	free, usable := s.Picker.Room()
	return usable && (!free || c.Tried == balance.Tried{}) // what is free may have failed it already
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
