package terminal

import "strings"

const ctrlR = 18

// search searches a history backwards for lines that contain the typed text.
type search struct {
	history History
	wanted  string // typed text
	shown   string // last line found
	next    int    // next position to search
}

// older returns the next older line with the typed text, or the line itself if there is
// none. An edited line starts a new search.
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
