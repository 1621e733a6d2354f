package loop

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// job is one private-key operation. A worker performs it while its handshake is parked.
type job struct {
	loop  *Loop
	shake *handshake // written only by the loop; nil if the handshake was aborted
	dead  atomic.Bool
	do    func() ([]byte, error)
	out   []byte
	err   error
	cause string // panic in do, with its stack
}

// work runs do on a worker and parks the calling coroutine until it has finished. It
// returns ErrClosed if the handshake was aborted meanwhile.
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

// cancel detaches the aborted handshake from the job.
func (j *job) cancel() {
	j.shake = nil
	j.dead.Store(true)
}

// run executes the job on a worker.
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

// done resumes the handshake, on the loop.
func (j *job) done() {
	if j.shake == nil {
		return
	}
	c := j.shake.s.conn
	defer c.Contain()
	j.shake.job = nil
	c.resume()
}

// workers is the worker pool of the process: at most GOMAXPROCS goroutines, which exist
// only while jobs wait. This bounds the CPU time that handshakes take from the loops.
// The limits on handshakes bound the queue.
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
	if p.next > len(p.waiting)/2 { // otherwise the slice would grow without bound while the queue never empties
		n := copy(p.waiting, p.waiting[p.next:])
		clear(p.waiting[n:])
		p.waiting, p.next = p.waiting[:n], 0
	}
	p.waiting = append(p.waiting, j)
}

func (p *pool) serve(j *job) {
	for ; j != nil; j = p.take() {
		j.run()
		runtime.Gosched() // a loop may be waiting for this CPU
	}
}

// take returns the next job, or nil if there is none and the worker must end.
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
