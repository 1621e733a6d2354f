package engine

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
)

// Changes is what differs between a table and the one that was in use when it was compiled.
type Changes struct {
	// Came has the listeners of the farms that the other table does not have as they are.
	Came map[uint32][]farm.Listener
	// Gone are the farms of the other table that are not in this one.
	Gone []uint32
}

// served is what an engine serves: with a new table only what changed is looked at.
type served struct {
	farms     []farm.Farm                // of the configuration, which nobody changes
	kinds     [][]marks.Kind             // of the sockets that each of them needs
	listeners map[uint32][]farm.Listener // of the table, by farm; nil before the first one
	at        map[farm.Listener]uint32   // the farms there
	failed    map[uint32]bool            // farms that do not listen as they should
	// crowded: two farms of the table have the same address. The one behind it is then found
	// by going through all farms.
	crowded bool
}

// moves is what is to be done for the farms of a table.
type moves struct {
	all  bool                       // of all of them, whatever was before
	came map[uint32][]farm.Listener // farms that are put behind their ports
	left []farm.Listener            // addresses of farms that are gone, or came
}

// follow makes t what is served, and returns what is to be done for that.
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
	for id := range s.failed { // there may be sockets now
		m.came[id] = s.listeners[id]
	}
	return m
}

// leave forgets a farm, and returns where it listened.
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

// unserved returns the positions of farms that are not served as they are.
func (s *served) unserved(farms []farm.Farm) (positions []int) {
	for i, at := range farm.Align(s.farms, farms) {
		if at < 0 || s.failed[farms[i].ID] {
			positions = append(positions, i)
		}
	}
	return positions
}
