// Package logqueue lets whoever logs go on at once, whatever becomes of the line.
//
// What is logged goes to standard error, which may be a pipe that nobody reads
// for a while: a terminal that was stopped, a collector that hangs. Loops and
// those they wait for must not stand still for that. So lines wait in a queue, of
// which one goroutine writes; when it is full they are left out and counted, and
// the number is said in front of the next line that is written.
package logqueue

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// mostLines and mostBytes bound what waits: some minutes of a busy log, and
	// memory that does not matter.
	mostLines = 4096
	mostBytes = 1 << 20
)

// Queue is an io.Writer that takes lines and never waits. Any goroutine may call
// its methods.
type Queue struct {
	to    io.Writer
	told  func(lost uint64) string
	some  chan struct{} // holds something when lines wait
	flush chan chan struct{}
	lost  atomic.Uint64 // lines

	mu          sync.Mutex
	waiting     [][]byte // takes as much memory as there are lines
	count, size int      // of those that wait or are being written, and their bytes
}

// New returns a Queue that writes to w, each line by a call of its own. told makes
// the line about those that were left out. Its goroutine lives as long as the
// process.
func New(w io.Writer, told func(lost uint64) string) *Queue {
	q := &Queue{to: w, told: told, some: make(chan struct{}, 1), flush: make(chan chan struct{})}
	go q.run()
	return q
}

// Write takes a line, which the caller may change afterwards, or leaves it out. It
// always succeeds.
func (q *Queue) Write(line []byte) (int, error) {
	if !q.take(line) {
		q.lost.Add(1)
		return len(line), nil
	}
	select {
	case q.some <- struct{}{}:
	default: // it is known already
	}
	return len(line), nil
}

func (q *Queue) take(line []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count == mostLines || q.size+len(line) > mostBytes {
		return false
	}
	q.waiting = append(q.waiting, bytes.Clone(line))
	q.count++
	q.size += len(line)
	return true
}

// Lost is how many lines were left out and are not told of yet.
func (q *Queue) Lost() uint64 { return q.lost.Load() }

// Flush waits until what was taken before is written, for that long at most. It
// reports whether it is.
func (q *Queue) Flush(patience time.Duration) bool {
	limit := time.After(patience)
	done := make(chan struct{})
	select {
	case q.flush <- done:
	case <-limit:
		return false
	}
	select {
	case <-done:
		return true
	case <-limit:
		return false
	}
}

func (q *Queue) run() {
	for {
		select {
		case <-q.some:
			q.write()
		case done := <-q.flush:
			q.write()
			q.tell()
			close(done)
		}
	}
}

// write writes the lines that wait, each after one about those left out before it.
func (q *Queue) write() {
	q.mu.Lock()
	lines := q.waiting
	q.waiting = nil
	q.mu.Unlock()
	for _, line := range lines {
		q.tell()
		_, _ = q.to.Write(line) // there is nowhere to say that it failed
		q.mu.Lock()
		q.count--
		q.size -= len(line)
		q.mu.Unlock()
	}
}

func (q *Queue) tell() {
	if n := q.lost.Swap(0); n > 0 {
		_, _ = fmt.Fprintln(q.to, q.told(n))
	}
}
