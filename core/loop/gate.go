package loop

// Gate bounds how many connections a listener takes. It is asked on the loop.
type Gate interface {
	// Enter takes a place for a connection that is about to be accepted. After
	// false the listener accepts no more until Resume; what waits is left in the
	// kernel's queue.
	Enter() bool
	// Leave gives the place back: there was no connection.
	Leave()
}

// Guard has g asked before each accept, from now on.
func (ln *Listener) Guard(g Gate) { ln.gate = g }

// Resume goes on accepting after the gate said no. On the loop.
func (ln *Listener) Resume() {
	if !ln.closed {
		ln.loop.guard(ln.accept)
	}
}
