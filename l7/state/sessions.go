package state

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
)

// SessionsOf is what a table of sessions belongs to: keys of another kind mean
// nothing, so a service that changes what it recognises clients by begins anew.
type SessionsOf struct {
	service uint32
	kind    farm.Persistence
	name    string
}

// SessionsFor is what the sessions of a service belong to.
func SessionsFor(s *farm.Service) SessionsOf {
	return SessionsOf{s.ID, s.EffectivePersistence(), s.SessionID}
}

// Owner is the table's number in shared memory.
func (k SessionsOf) Owner() uint64 { return session.Owner(k.service, string(k.kind), k.name) }
