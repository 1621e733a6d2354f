// Package tiny is what the tests of mutate put faults into: its own tests
// notice some, and each line that says so has one that they do not.
package tiny

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Queue holds two numbers.
type Queue struct {
	mu    sync.Mutex
	items []int
	Wait  time.Duration
}

// top does not compile when it is doubled.
const top uint8 = 200

// New makes a queue.
func New() *Queue {
	return &Queue{Wait: 5 * time.Second} // survives: nobody asks how long it waits
}

// Put adds a number.
func (q *Queue) Put(n int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n > int(top) { // survives: nobody puts exactly that much
		return errors.New("too much")
	}
	if len(q.items) == 2 {
		slog.Warn("full", "of", 2)
		return invalid("full: %d of %d", 2, 2)
	}
	q.items = append(q.items, n)
	return nil
}

func invalid(format string, about ...any) error { return fmt.Errorf(format, about...) }

// Clear forgets all numbers but those from the first on.
func (q *Queue) Clear() {
	q.mu.Lock()
	q.keep(0, 0) // survives: nobody looks whether it did
	q.mu.Unlock()
}

func (q *Queue) keep(from, to int) {
	q.items = q.items[from:to] // survives, as above
}

// Sub takes small from large, with an i that has to move on.
func Sub(large, small int) int {
	for i := 0; i < small; {
		large, i = large-1, i+1
	}
	return large
}

// Negative is the other way round.
func Negative(a, b int) int { return Sub(b, a) }

// Bytes is a text as bytes.
func Bytes(text string) []byte { return append([]byte(nil), text...) }
