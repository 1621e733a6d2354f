package loop

// Which events are believed. A batch of the poller has one event of a descriptor
// at most, so one that is about an earlier connection comes to a descriptor that
// was closed while another one's event was handled, and before all others: of
// each number that was closed so the first event is in doubt, and no other.

// doubts are the numbers whose next event is in doubt.
type doubts []bool

// closing notes that a descriptor the poller knows is closed.
func (l *Loop) closing(fd int) {
	if fd == l.serving {
		return // its event of this batch is this one
	}
	for fd >= len(l.doubts) {
		l.doubts = append(l.doubts, make([]bool, max(64, len(l.doubts)/2))...)
	}
	l.doubts[fd] = true
}

// begin notes that an event of a descriptor is handled from now on, and tells
// whether it is certain that it is about what has that number now.
func (l *Loop) begin(fd int) (sure bool) {
	l.serving = fd
	if fd >= len(l.doubts) {
		return true
	}
	sure, l.doubts[fd] = !l.doubts[fd], false
	return sure
}

// nothing is what is served outside of events.
const nothing = -1
