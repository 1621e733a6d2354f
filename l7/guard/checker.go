package guard

import (
	"crypto/rand"
	"runtime"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/password"
)

const (
	// queueRoom is the default number of passwords that may wait to be checked.
	queueRoom = 4096
	// queueTime is the default time that a password may wait.
	queueTime = 30 * time.Second
)

// Checker checks passwords in the background, a few at a time, in turn for all sources. Use
// NewChecker.
type Checker struct {
	secret [secretLength]byte
	start  sync.Once
	end    sync.Once
	wait   sync.WaitGroup

	lock     sync.Mutex
	more     sync.Cond // signals jobs and Close
	queue    queue
	patience time.Duration // how long a job may wait
	over     bool          // Close was called
}

// NewChecker returns a Checker that uses at most a quarter of the processors, but at least
// one, from the first job until Close.
func NewChecker() *Checker {
	c := &Checker{queue: newQueue(queueRoom), patience: queueTime}
	c.more.L = &c.lock
	_, _ = rand.Read(c.secret[:]) // never fails, by the documentation of crypto/rand
	return c
}

// Limit sets the number of passwords that may wait, and for how long.
func (c *Checker) Limit(room int, patience time.Duration) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.queue.room, c.patience = room, patience
}

// Job is one password to be checked.
type Job struct {
	// Source is the client, whose jobs wait for each other before they delay those of others.
	Source uint64
	// Done receives Right, Wrong, or Unchecked if the job was dropped: it waited for too long,
	// or there was no room and its source had the most jobs. It is called on a goroutine of
	// the Checker or within Check.
	Done     func(Verdict)
	since    time.Time
	hash     [password.HashLength]byte
	password []byte
	exists   bool
}

// Check queues the job. It never blocks.
func (c *Checker) Check(j *Job) {
	c.start.Do(func() {
		for range max(1, runtime.NumCPU()/4) {
			c.wait.Go(c.run)
		}
	})
	j.since = time.Now()
	c.lock.Lock()
	dropped := c.queue.add(j)
	c.lock.Unlock()
	c.more.Signal()
	if dropped != nil {
		dropped.drop()
	}
}

// drop ends the job without a check.
func (j *Job) drop() {
	clear(j.password)
	j.Done(Unchecked)
}

// Close stops the Checker and waits for running checks. Queued jobs are discarded: Done is not
// called.
func (c *Checker) Close() {
	c.end.Do(func() {
		c.lock.Lock()
		c.over = true
		c.lock.Unlock()
		c.more.Broadcast()
	})
	c.start.Do(func() {}) // prevents a later start
	c.wait.Wait()
}

func (c *Checker) run() {
	for {
		j, late, ok := c.next()
		for _, j := range late {
			j.drop()
		}
		if !ok {
			return
		}
		if j == nil {
			continue
		}
		verdict := Wrong
		if j.Right() {
			verdict = Right
		}
		j.Done(verdict)
	}
}

// next waits for a job. It also returns the jobs that waited for too long. The result ok is
// false after Close.
func (c *Checker) next() (j *Job, late []*Job, ok bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	for !c.over && c.queue.count == 0 {
		c.more.Wait()
	}
	if c.over {
		return nil, nil, false
	}
	late = c.queue.before(time.Now().Add(-c.patience))
	return c.queue.next(), late, true
}

// Right checks the password synchronously. It takes a tenth of a second and must not be
// called on a loop.
func (j *Job) Right() bool {
	right := password.Matches(j.hash[:], j.password) && j.exists
	clear(j.password)
	return right
}
