package loop

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// job is one use of a private key, done by a worker while the handshake that
// needs it is parked.
type job struct {
	loop  *Loop
	shake *handshake // the loop's; nil when the handshake was given up
	dead  atomic.Bool
	do    func() ([]byte, error)
	out   []byte
	err   error
	cause string // of a panic in do
}

// work is called in the coroutine: it lets a worker do something, and the loop
// go on meanwhile.
func (h *handshake) work(do func() ([]byte, error)) ([]byte, error) {
	l := h.s.conn.loop
	j := &job{loop: l, shake: h, do: do}
	h.job = j
	l.jobs.Add(1)
	workers.submit(j)
	if !h.park() {
		return nil, ErrClosed
	}
	if j.cause != "" {
		panic(j.cause)
	}
	return j.out, j.err
}

// cancel forgets the handshake: it is no more.
func (j *job) cancel() {
	j.shake = nil
	j.dead.Store(true)
}

// run is what a worker does.
func (j *job) run() {
	defer j.loop.jobs.Done()
	if j.dead.Load() {
		return
	}
	j.try()
	j.loop.Post(j.done)
}

func (j *job) try() {
	defer func() {
		if r := recover(); r != nil {
			j.cause = fmt.Sprintf("%v, on a worker:\n%s", r, debug.Stack())
		}
	}()
	j.out, j.err = j.do()
}

// done goes on with the handshake, on the loop.
func (j *job) done() {
	if j.shake == nil {
		return
	}
	c := j.shake.s.conn
	defer c.Contain()
	j.shake.job = nil
	c.resume()
}

// workers are those of the process: as many as can run at once, and only while
// there is something to do. Their number bounds what handshakes may take from
// the loops; how much can wait for them is bounded by the handshakes.
var workers pool

type pool struct {
	sync.Mutex
	waiting []*job // from next on
	next    int
	running int
}

func (p *pool) submit(j *job) {
	p.Lock()
	defer p.Unlock()
	if p.running < runtime.GOMAXPROCS(0) {
		p.running++
		go p.serve(j)
		return
	}
	if p.next > len(p.waiting)/2 { // or the slice would grow while it never empties
		n := copy(p.waiting, p.waiting[p.next:])
		clear(p.waiting[n:])
		p.waiting, p.next = p.waiting[:n], 0
	}
	p.waiting = append(p.waiting, j)
}

func (p *pool) serve(j *job) {
	for ; j != nil; j = p.take() {
		j.run()
		runtime.Gosched() // a loop may be waiting for this processor
	}
}

// take returns the next job, nil when there is none and the worker ends.
func (p *pool) take() *job {
	p.Lock()
	defer p.Unlock()
	if p.next == len(p.waiting) {
		p.waiting, p.next = p.waiting[:0], 0
		p.running--
		return nil
	}
	j := p.waiting[p.next]
	p.waiting[p.next] = nil
	p.next++
	return j
}
