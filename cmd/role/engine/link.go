package engine

import (
	"errors"
	"fmt"
	"os"

	"github.com/sluicelb/sluice/cmd/trim"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/core/snapshot"
)

// The l4 engine handles questions about connections.

// Sessions implements link.Handler.
func (e *engine) Sessions(service uint32, limit int) (total int, list []link.Session) {
	total, found := e.set.SessionsOf(service).List(limit)
	for _, s := range found {
		list = append(list, link.Session(s))
	}
	return total, list
}

// Session implements link.Handler.
func (e *engine) Session(service uint32, key []byte) (link.Session, bool) {
	s, ok := e.set.SessionsOf(service).Find(key)
	return link.Session(s), ok
}

// ChangeSessions implements link.Handler.
func (e *engine) ChangeSessions(c link.SessionChange) (changed int, err error) {
	switch c.Act {
	case link.DeleteSession:
		was, err := e.set.SessionsOf(c.Service).Forget(c.Key)
		if was {
			changed = 1
		}
		return changed, err
	case link.FlushSessions:
		return e.set.SessionsOf(c.Service).Flush()
	case link.LearnSessions:
		list := make([]session.Shown, len(c.List))
		for i, s := range c.List {
			list[i] = session.Shown(s)
		}
		return e.set.SessionsOf(c.Service).Learn(list)
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

// EndConnections implements link.Handler. For all backends (nil) it ends layer-4
// connections. For named ones it also ends the exchanges of layer-7 clients with them.
func (e *engine) EndConnections(backends []uint32) int {
	ended := e.forward.FlushConnections(backends)
	if backends != nil {
		ended += e.proxy.CutOff(backends)
	}
	return ended
}

// Publish implements link.Handler. A snapshot refused by one engine changes nothing in any.
func (e *engine) Publish(file *os.File, opened map[string][]*os.File) link.Ack {
	if opened == nil {
		opened = map[string][]*os.File{} // the set adds entries
	}
	defer closeAll(opened)
	defer trim.While(file.Stat())()
	generation, cfg, err := e.reader.Load(file)
	if errors.Is(err, snapshot.ErrBase) {
		return link.Ack{Generation: e.set.Generation(), Refused: err.Error(), Whole: true, Listeners: e.holds()}
	}
	if err != nil {
		return e.refuse(generation, err)
	}
	e.takePlaces(opened)
	problems, err := e.set.Publish(generation, cfg, opened)
	if err != nil {
		return e.refuse(generation, err)
	}
	if e.memory.HasLeft() {
		e.memory.Retain(e.set.SessionOwners(cfg)...)
	}
	e.page.SetAcknowledged(generation)
	return link.Ack{Generation: generation, Farms: problems, Listeners: e.holds()}
}
