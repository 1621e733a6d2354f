package guard

import (
	"crypto/rand"
	"runtime"
	"sync"

	"github.com/sluicelb/sluice/core/password"
)

// queue bounds the passwords waiting to be checked: some seconds' worth.
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

// NewChecker returns a Checker that uses at most a quarter of the processors, but at least
// one, from the first job until Close.
func NewChecker() *Checker {
	c := &Checker{jobs: make(chan *Job, queue), stop: make(chan struct{})}
	_, _ = rand.Read(c.secret[:]) // never fails, by the documentation of crypto/rand
	return c
}

// Job is one password to be checked.
type Job struct {
	// Done receives the result, on a goroutine of the Checker.
	Done     func(right bool)
	hash     [password.HashLength]byte
	password []byte
	exists   bool
}

// Check queues the job. It returns false if the queue is full; Done is not called then. It
// never blocks.
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

// Close stops the Checker and waits for running checks. Queued jobs are dropped.
func (c *Checker) Close() {
	c.end.Do(func() { close(c.stop) })
	c.start.Do(func() {}) // prevents a later start
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

// Right checks the password synchronously. It takes a tenth of a second and must not be
// called on a loop.
func (j *Job) Right() bool {
	right := password.Matches(j.hash[:], j.password) && j.exists
	clear(j.password)
	return right
}
