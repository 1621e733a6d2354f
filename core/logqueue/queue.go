// Package logqueue lets whoever logs go on at once, whatever becomes of the line.
//
// What is logged goes to standard error, which may be a pipe that nobody reads
// for a while: a terminal that was stopped, a collector that hangs. Loops and
// those they wait for must not stand still for that. So lines wait in a queue, of
// which one goroutine writes; when it is full they are left out and counted, and
// the number is said in front of the next line that is written.
package logqueue

import (
	"fmt"
	"io"
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
	to      io.Writer
	told    func(lost uint64) string
	lines   chan []byte
	waiting atomic.Int64  // bytes in lines and in the one being written
	lost    atomic.Uint64 // lines
	flush   chan chan struct{}
}

// New returns a Queue that writes to w, each line by a call of its own. told makes
// the line about those that were left out. Its goroutine lives as long as the
// process.
func New(w io.Writer, told func(lost uint64) string) *Queue {
	q := &Queue{to: w, told: told, lines: make(chan []byte, mostLines), flush: make(chan chan struct{})}
	go q.run()
	return q
}

// Write takes a line, which the caller may change afterwards, or leaves it out. It
// always succeeds.
func (q *Queue) Write(line []byte) (int, error) {
	n := int64(len(line))
	if q.waiting.Add(n) > mostBytes {
		q.waiting.Add(-n)
		q.lost.Add(1)
		return len(line), nil
	}
	select {
	case q.lines <- append([]byte(nil), line...):
	default:
		q.waiting.Add(-n)
		q.lost.Add(1)
	}
	return len(line), nil
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
		case line := <-q.lines:
			q.write(line)
		case done := <-q.flush:
			for n := len(q.lines); n > 0; n-- {
				q.write(<-q.lines)
			}
			q.tell()
			close(done)
		}
	}
}

// write writes a line, after one about those left out before it.
func (q *Queue) write(line []byte) {
	q.tell()
	_, _ = q.to.Write(line) // there is nowhere to say that it failed
	q.waiting.Add(-int64(len(line)))
}

func (q *Queue) tell() {
	if n := q.lost.Swap(0); n > 0 {
		_, _ = fmt.Fprintln(q.to, q.told(n))
	}
}
