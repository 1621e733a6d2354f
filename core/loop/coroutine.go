package loop

import "iter"

// coroutinesMost is the maximum number of idle coroutines kept for reuse. Growing the
// stack of a new one costs a twentieth of a handshake. The garbage collector shrinks
// the stacks of coroutines that stay idle.
const coroutinesMost = 64

// coroutine runs handshakes, one at a time, on the loop's goroutine. crypto/tls
// performs a handshake in one call and treats every error as final. A coroutine can be
// parked while it waits for bytes or for a slow signature.
type coroutine struct {
	shake *handshake // the current handshake; nil when idle
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
}

// coroutine returns an idle coroutine, or a new one.
func (l *Loop) coroutine() *coroutine {
	if n := len(l.resting); n > 0 {
		co := l.resting[n-1]
		l.resting = l.resting[:n-1]
		return co
	}
	co := new(coroutine)
	co.next, co.stop = iter.Pull(co.run)
	return co
}

func (co *coroutine) run(yield func(struct{}) bool) {
	co.yield = yield
	for {
		co.shake.run()
		co.shake = nil
		if !yield(struct{}{}) {
			return
		}
	}
}

// rest keeps a coroutine whose handshake is over for reuse, or stops it.
func (l *Loop) rest(co *coroutine) {
	if len(l.resting) == coroutinesMost {
		co.stop()
		return
	}
	l.resting = append(l.resting, co)
}

func (l *Loop) stopCoroutines() {
	for _, co := range l.resting {
		co.stop()
	}
	l.resting = nil
}

// park suspends the coroutine until step is called. It returns false if the handshake
// was aborted.
func (h *handshake) park() bool { return !h.dead && h.co.yield(struct{}{}) && !h.dead }

// step runs the handshake until it parks or ends, and reports whether it parked.
func (h *handshake) step() (parked bool) {
	h.running = true
	h.co.next()
	h.running = false
	if h.co.shake != nil {
		return true
	}
	h.s.conn.loop.rest(h.co)
	h.co = nil
	return false
}

// end runs an aborted handshake to its end and discards its output.
func (h *handshake) end() {
	if h.co == nil || h.running {
		return // already over, or resume finishes it
	}
	h.step()
	l := h.s.conn.loop
	l.sealed = l.sealed[:0]
}
