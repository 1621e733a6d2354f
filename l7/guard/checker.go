package guard

import (
	"crypto/rand"
	"runtime"
	"sync"

	"github.com/sluicelb/sluice/core/password"
)

// queue is how many passwords may wait to be checked: some seconds' worth.
const queue = 64

// Checker checks passwords in the background, a few at a time. Use NewChecker.
type Checker struct {
	secret [secretLength]byte
	jobs   chan *Job
	stop   chan struct{}
	start  sync.Once
	end    sync.Once
	wait   sync.WaitGroup
}

// NewChecker returns a Checker, which uses a quarter of the processors at most
// (one at least), from the first job until Close.
func NewChecker() *Checker {
	c := &Checker{jobs: make(chan *Job, queue), stop: make(chan struct{})}
	_, _ = rand.Read(c.secret[:]) // never fails: it would end the program
	return c
}

// Job is one password to be checked.
type Job struct {
	// Done is told whether the password is right, on a goroutine of the
	// Checker's.
	Done     func(right bool)
	hash     [password.HashLength]byte
	password []byte
	exists   bool
}

// Check gives the job a place in the queue. It reports false when there is
// none; Done is not called then. It never blocks.
func (c *Checker) Check(j *Job) bool {
	c.start.Do(func() {
		for range max(1, runtime.NumCPU()/4) {
			c.wait.Go(c.run)
		}
	})
	select {
	case c.jobs <- j:
		return true
	default:
		return false
	}
}

// Close ends the checking and waits for what is being checked. What waits is
// dropped.
func (c *Checker) Close() {
	c.end.Do(func() { close(c.stop) })
	c.start.Do(func() {}) // it does not start any more
	c.wait.Wait()
}

func (c *Checker) run() {
	for {
		select {
		case <-c.stop:
			return
		case j := <-c.jobs:
			select {
			case <-c.stop:
				return
			default:
			}
			j.Done(j.Right())
		}
	}
}

// Right checks the password now. It takes a tenth of a second: never call it on
// a loop.
func (j *Job) Right() bool {
	right := password.Matches(j.hash[:], j.password) && j.exists
	clear(j.password)
	return right
}
