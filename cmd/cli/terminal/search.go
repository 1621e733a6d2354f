package terminal

import "strings"

const ctrlR = 18

// search goes back through a history to lines that hold what was typed.
type search struct {
	history History
	wanted  string // what was typed
	shown   string // the line that was found last
	next    int    // where to look on
}

// older returns the next older line that holds what was typed; the line itself where
// there is none. A line somebody changed is what is looked for anew.
func (s *search) older(line string) string {
	if s.shown == "" || line != s.shown {
		s.wanted, s.next = line, 0
	}
	for ; s.next < s.history.Len(); s.next++ {
		if found := s.history.At(s.next); found != line && strings.Contains(found, s.wanted) {
			s.next++
			s.shown = found
			return found
		}
	}
	return line
}
