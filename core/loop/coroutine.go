package loop

import "iter"

// coroutinesMost is how many coroutines rest until the next handshake: letting
// the stack of a new one grow is a twentieth of a handshake. The collector
// shrinks the stacks of those that rest for longer.
const coroutinesMost = 64

// coroutine runs handshakes, one after the other, on the loop's goroutine.
// crypto/tls does a handshake in one go and takes every error for final; here
// it can be parked whenever it needs bytes, or a signature that takes long.
type coroutine struct {
	shake *handshake // that it runs; nil when it is over
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
}

// coroutine returns one that rests, or a new one.
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

// rest takes back a coroutine whose handshake is over.
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

// park is called in the coroutine and hands the loop back until step is called.
// It reports false when the handshake is given up.
func (h *handshake) park() bool { return !h.dead && h.co.yield(struct{}{}) && !h.dead }

// step runs the handshake until it parks or is over, and reports which.
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

// end runs a handshake that was given up to its end; what it says is lost.
func (h *handshake) end() {
	if h.co == nil || h.running {
		return // over, or resume goes on
	}
	h.step()
	l := h.s.conn.loop
	l.sealed = l.sealed[:0]
}
