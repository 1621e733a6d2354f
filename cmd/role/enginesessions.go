package role

import (
	"fmt"

	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/l4/forward"
)

// Questions about sessions go to whoever serves the farm their number is of,
// those about connections to who carries l4xnat farms.

// Sessions implements link.Handler.
func (e *engine) Sessions(service uint32, limit int) (total int, list []link.Session) {
	if e.forward.Serves(service) {
		total, found := e.forward.Sessions(service, limit)
		for _, s := range found {
			list = append(list, link.Session(s))
		}
		return total, list
	}
	total, found := e.proxy.Sessions(service, limit)
	for _, s := range found {
		list = append(list, link.Session(s))
	}
	return total, list
}

// Session implements link.Handler.
func (e *engine) Session(service uint32, key []byte) (link.Session, bool) {
	if e.forward.Serves(service) {
		s, ok := e.forward.Session(service, key)
		return link.Session(s), ok
	}
	s, ok := e.proxy.Session(service, key)
	return link.Session(s), ok
}

// ChangeSessions implements link.Handler.
func (e *engine) ChangeSessions(c link.SessionChange) (changed int, err error) {
	one, all := e.proxy.DeleteSession, e.proxy.FlushSessions
	if e.forward.Serves(c.Service) {
		one, all = e.forward.DeleteSession, e.forward.FlushSessions
	}
	switch c.Act {
	case link.DeleteSession:
		was, err := one(c.Service, c.Key)
		if was {
			changed = 1
		}
		return changed, err
	case link.FlushSessions:
		return all(c.Service)
	case link.LearnSessions:
		list := make([]forward.Session, len(c.List))
		for i, s := range c.List {
			list[i] = forward.Session(s)
		}
		return e.forward.LearnSessions(c.Service, list)
	}
	return 0, fmt.Errorf("change %d of sessions is not known here", c.Act)
}

// Connections implements link.Handler.
func (e *engine) Connections(backends []uint32, limit int) (total int, list []link.Connection) {
	total, found := e.forward.Connections(backends, limit)
	for _, c := range found {
		list = append(list, link.Connection(c))
	}
	return total, list
}

// EndConnections implements link.Handler.
func (e *engine) EndConnections(backends []uint32) int { return e.forward.FlushConnections(backends) }
