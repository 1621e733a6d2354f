package auth

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/rbac"
)

// SessionTime is the default lifetime of a session without a request (api-reference §1.1).
const SessionTime = 30 * time.Minute

// Limits for sessions. A browser needs one; scripts that do not log out open many.
const (
	maxSessions     = 4096
	maxUserSessions = 64
)

// Sessions holds the valid sessions. They are in memory only: after a restart every user
// logs in again. Make it with NewSessions.
type Sessions struct {
	now func() time.Time
	// life returns the current lifetime of a session without a request.
	life func() time.Duration

	mu     sync.Mutex
	number uint64                         // of the last one
	open   map[[sha256.Size]byte]*session // by the SHA-256 of their token
}

type session struct {
	OpenSession
	epoch rbac.Epoch
	// raised is the time until which the session may create credentials that outlive it.
	raised time.Time
}

// RaisedTime is how long a session remains raised after its user has confirmed password and
// second factor.
const RaisedTime = 5 * time.Minute

// OpenSession is the visible part of a session.
type OpenSession struct {
	Number      uint64 // identifies it, because tokens are secret
	User        string
	Source      string // origin of the login
	Began, Used time.Time
}

// NewSessions returns an empty Sessions with a clock.
func NewSessions(now func() time.Time) *Sessions {
	return &Sessions{now: now, life: func() time.Duration { return SessionTime }, open: map[[sha256.Size]byte]*session{}}
}

// Begin makes a session of a user from a source with the current rights. If there are too
// many, the least recently used one ends.
func (s *Sessions) Begin(user, source string, epoch rbac.Epoch) (token string) {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails, by its documentation
	token = base64.RawURLEncoding.EncodeToString(random[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropOld()
	s.makeRoom(maxUserSessions, func(other *session) bool { return other.User == user })
	s.makeRoom(maxSessions, func(*session) bool { return true })
	s.number++
	s.open[digest(token)] = &session{OpenSession: OpenSession{Number: s.number, User: user, Source: source, Began: s.now(), Used: s.now()}, epoch: epoch}
	return token
}

// Find returns the user of a session and prolongs its life. A session has ended if the
// rights of its user changed since it began.
func (s *Sessions) Find(token string, epoch func(user string) (rbac.Epoch, bool)) (user string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := digest(token)
	found := s.holding(at, epoch)
	if found == nil {
		return "", false
	}
	found.Used = s.now()
	return found.User, true
}

// Holds is Find without prolonging the life of the session.
func (s *Sessions) Holds(token string, epoch func(user string) (rbac.Epoch, bool)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holding(digest(token), epoch) != nil
}

// holding returns the session there, unless it has ended.
func (s *Sessions) holding(at [sha256.Size]byte, epoch func(user string) (rbac.Epoch, bool)) *session {
	found := s.open[at]
	if found == nil {
		return nil
	}
	if now, is := epoch(found.User); !is || now != found.epoch || s.old(found) {
		delete(s.open, at)
		return nil
	}
	return found
}

// Raise raises the session of a token.
func (s *Sessions) Raise(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.open[digest(token)]; found != nil {
		found.raised = s.now().Add(RaisedTime)
	}
}

// Raised reports whether the session of a token is raised.
func (s *Sessions) Raised(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.open[digest(token)]
	return found != nil && s.now().Before(found.raised)
}

// End ends a session; false if there is none.
func (s *Sessions) End(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, was := s.open[digest(token)]
	delete(s.open, digest(token))
	return was
}

// List lists the valid sessions, the oldest first.
func (s *Sessions) List(epoch func(user string) (rbac.Epoch, bool)) []OpenSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []OpenSession
	for at := range s.open {
		if found := s.holding(at, epoch); found != nil {
			out = append(out, found.OpenSession)
		}
	}
	slices.SortFunc(out, func(a, b OpenSession) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

// EndThose ends the selected sessions, and returns their number.
func (s *Sessions) EndThose(which func(OpenSession) bool) (ended int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, one := range s.open {
		if which(one.OpenSession) {
			delete(s.open, at)
			ended++
		}
	}
	return ended
}

// numberOf returns the number of the session of a token, 0 for none.
func (s *Sessions) numberOf(token string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.open[digest(token)]; found != nil {
		return found.Number
	}
	return 0
}

func (s *Sessions) old(one *session) bool { return s.now().Sub(one.Used) >= s.life() }

func (s *Sessions) dropOld() {
	for at, one := range s.open {
		if s.old(one) {
			delete(s.open, at)
		}
	}
}

// makeRoom ends the least recently used session if most of them are open.
func (s *Sessions) makeRoom(most int, of func(*session) bool) {
	var oldest [sha256.Size]byte
	n := 0
	for at, one := range s.open {
		if !of(one) {
			continue
		}
		if n++; n == 1 || one.Used.Before(s.open[oldest].Used) {
			oldest = at
		}
	}
	if n >= most {
		delete(s.open, oldest)
	}
}

func digest(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }
