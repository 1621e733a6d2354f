package loop

// turner is a UDP socket that waits for another turn.
type turner interface{ turn() }

// later gives t another turn; waits says whether it waits for one already.
func (l *Loop) later(t turner, waits *bool) {
	if !*waits {
		*waits = true
		l.waiting = append(l.waiting, t)
		l.call()
	}
}

// runDatagrams gives the sockets whose turn was cut short another one.
func (l *Loop) runDatagrams() {
	for n := len(l.waiting); n > 0; n-- {
		t := l.waiting[0]
		copy(l.waiting, l.waiting[1:])
		l.waiting[len(l.waiting)-1] = nil
		l.waiting = l.waiting[:len(l.waiting)-1]
		t.turn()
	}
}

func (l *Loop) closeDatagrams() {
	for _, in := range l.inlets {
		in.Close()
	}
	for _, o := range l.outlets {
		if o != nil {
			o.Close()
		}
	}
}
