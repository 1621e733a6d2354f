// Package logqueue provides a log writer that never blocks.
//
// Logs go to standard error, which may be a pipe whose reader is blocked, e.g. a
// stopped terminal or a hanging collector. Loops must not wait for it. Lines are
// therefore queued and written by one goroutine. If the queue is full, lines are
// dropped and counted, and the number is reported before the next line written.
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
	// mostLines and mostBytes limit the queue: some minutes of a busy log, in a small
	// amount of memory.
	mostLines = 4096
	mostBytes = 1 << 20
)

// Queue is an io.Writer for lines that never blocks. It is safe for concurrent use.
type Queue struct {
	to    io.Writer
	told  func(lost uint64) string
	some  chan struct{} // signals that lines wait
	flush chan chan struct{}
	lost  atomic.Uint64 // dropped lines not reported yet

	mu          sync.Mutex
	waiting     [][]byte // grows and shrinks with the queue
	count, size int      // lines queued or being written, and their bytes
}

// New returns a Queue that writes to w with one call per line. told returns the text
// that reports dropped lines. The goroutine of the Queue is never stopped.
func New(w io.Writer, told func(lost uint64) string) *Queue {
	q := &Queue{to: w, told: told, some: make(chan struct{}, 1), flush: make(chan chan struct{})}
	go q.run()
	return q
}

// Write queues a copy of line, or drops it. It always succeeds.
func (q *Queue) Write(line []byte) (int, error) {
	if !q.take(line) {
		q.lost.Add(1)
		return len(line), nil
	}
	select {
	case q.some <- struct{}{}:
	default: // already signalled
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

// Lost returns the number of dropped lines not reported yet.
func (q *Queue) Lost() uint64 { return q.lost.Load() }

// Flush waits until all lines queued before are written, for at most patience. It
// reports whether they are.
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

// write writes the queued lines, and reports dropped ones first.
func (q *Queue) write() {
	q.mu.Lock()
	lines := q.waiting
	q.waiting = nil
	q.mu.Unlock()
	for _, line := range lines {
		q.tell()
		_, _ = q.to.Write(line) // there is nowhere to report the error
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
