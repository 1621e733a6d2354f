package engine

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
)

// Changes is the difference between a table and the one in use when it was compiled.
type Changes struct {
	// Came holds the listeners of new or changed farms.
	Came map[uint32][]farm.Listener
	// Gone holds the farms of the other table that are not in this one.
	Gone []uint32
}

// served holds the farms that an engine serves. It makes a new table cost only its changes.
type served struct {
	farms     []farm.Farm                // of the configuration, immutable
	kinds     [][]marks.Kind             // kinds of sockets each farm needs
	listeners map[uint32][]farm.Listener // of the table, by farm; nil before the first one
	at        map[farm.Listener]uint32   // the farm of each listener
	failed    map[uint32]bool            // farms that do not listen correctly
	// crowded means that two farms of the table have the same address. Then farms are found
	// by a search of all.
	crowded bool
}

// moves is the work needed for the farms of a table.
type moves struct {
	all  bool                       // for all farms
	came map[uint32][]farm.Listener // farms to assign to their ports
	left []farm.Listener            // addresses of removed or changed farms
}

// follow makes t the served table and returns the necessary work.
func (s *served) follow(t Table) (m moves) {
	changes := t.Changes()
	if changes == nil || s.listeners == nil || s.crowded {
		m.all, m.came = true, t.Listeners()
		s.listeners, s.at, s.failed, s.crowded = make(map[uint32][]farm.Listener, len(m.came)), make(map[farm.Listener]uint32, len(m.came)), map[uint32]bool{}, false
		s.take(m.came)
		return m
	}
	for _, id := range changes.Gone {
		m.left = append(m.left, s.leave(id)...)
	}
	for id := range changes.Came {
		m.left = append(m.left, s.leave(id)...)
	}
	s.take(changes.Came)
	m.came = changes.Came
	for id := range s.failed { // their sockets may exist now
		m.came[id] = s.listeners[id]
	}
	return m
}

// none reports whether the table has the same farms, on the same ports, as the previous one.
func (m *moves) none() bool { return !m.all && len(m.came) == 0 && len(m.left) == 0 }

// leave removes a farm and returns its listeners.
func (s *served) leave(id uint32) []farm.Listener {
	list := s.listeners[id]
	for _, l := range list {
		delete(s.at, l)
	}
	delete(s.listeners, id)
	delete(s.failed, id)
	return list
}

// take adds farms.
func (s *served) take(came map[uint32][]farm.Listener) {
	for id, list := range came {
		s.listeners[id] = list
		for _, l := range list {
			if _, taken := s.at[l]; taken {
				s.crowded = true
			}
			s.at[l] = id
		}
	}
}

// unserved returns the positions of farms not served in this form.
func (s *served) unserved(cfg *farm.Config) (positions []int) {
	for i, at := range cfg.AlignedWith(s.farms) {
		if at < 0 || s.failed[cfg.Farms[i].ID] {
			positions = append(positions, i)
		}
	}
	return positions
}
