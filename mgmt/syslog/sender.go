package syslog

import (
	"log/slog"
	"strconv"
	"sync"
	"time"
)

// Limits of the queue of a server: a minute of a busy log, and negligible memory.
const (
	queueMessages = 4096
	queueBytes    = 1 << 20
	// batchMessages is the maximum number of messages per write.
	batchMessages = 64
	// closeTime bounds the wait of Close for queued messages.
	closeTime = time.Second
	// settleTime is how long after a failure a datagram must be sent without an error
	// before the server counts as reachable, because datagrams are not acknowledged.
	settleTime = 10 * time.Second
)

// Drop selects the messages to drop when a queue is full.
type Drop string

// Values of Drop.
const (
	DropOldest Drop = "oldest"
	DropNewest Drop = "newest"
)

// Stats are the statistics of a server since its Sender was made.
type Stats struct {
	Target  string
	Sent    uint64
	Dropped uint64
	Waiting int
	// Reconnects is the number of connections that replaced another one.
	Reconnects uint64
	// Problem is the reason why the server is unreachable; empty if it is reachable.
	Problem string
	// LastError is the last error, at LastErrorAt; empty if there was none.
	LastError   string
	LastErrorAt time.Time
}

// Sender sends messages to one server in the background. It is safe for concurrent use.
// Use NewSender to make one.
type Sender struct {
	target Target
	drop   Drop
	origin Origin
	conn   *Conn
	log    *slog.Logger
	now    func() time.Time
	wake   chan struct{} // holds one wake-up
	stop   chan struct{}
	done   chan struct{}

	mu      sync.Mutex // guards the following fields
	waiting [][]byte
	bytes   int
	dropped uint64 // total
	untold  uint64 // dropped messages not yet reported to the server
	since   time.Time
	sent    uint64
	problem string
	again   uint64 // reconnects
	last    string // last error
	failed  time.Time
	full    bool // dropping was logged
	closed  bool
}

// NewSender returns a running Sender; Close stops it. now may be nil.
func NewSender(t Target, drop Drop, origin Origin, log *slog.Logger, now func() time.Time) *Sender {
	if now == nil {
		now = time.Now
	}
	s := &Sender{target: t, drop: drop, origin: origin, conn: NewConn(t, now), log: log, now: now,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go s.run()
	return s
}

// Send queues or drops a message. It never waits.
func (s *Sender) Send(m *Message) {
	text := s.origin.Append(make([]byte, 0, 256+len(m.Text)), m, s.target.most())
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	report := s.queue(text)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
	if report {
		s.log.Warn("messages for the syslog server are dropped: it does not take them fast enough", "to", s.target.String(), "goes", string(s.drop))
	}
}

// queue appends a message, and reports whether dropping must be logged. The caller holds
// the lock.
func (s *Sender) queue(text []byte) (report bool) {
	for len(s.waiting) >= queueMessages || s.bytes+len(text) > queueBytes {
		report = !s.full
		s.full = true
		if s.dropped, s.untold = s.dropped+1, s.untold+1; s.untold == 1 {
			s.since = s.now()
		}
		if s.drop == DropNewest {
			return report
		}
		s.bytes -= len(s.waiting[0])
		s.waiting[0] = nil
		s.waiting = s.waiting[1:]
	}
	s.waiting, s.bytes = append(s.waiting, text), s.bytes+len(text)
	return report
}

// Stats returns the statistics.
func (s *Sender) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Target: s.target.String(), Sent: s.sent, Dropped: s.dropped, Waiting: len(s.waiting), Reconnects: s.again,
		Problem: s.problem, LastError: s.last, LastErrorAt: s.failed}
}

// Close stops the Sender after the queue is sent or closeTime has passed.
func (s *Sender) Close() {
	s.mu.Lock()
	already := s.closed
	s.closed = true
	s.mu.Unlock()
	if !already {
		close(s.stop)
	}
	select {
	case <-s.done:
	case <-time.After(closeTime):
	}
}

func (s *Sender) run() {
	defer close(s.done)
	defer s.conn.Close()
	stop := s.stop
	for {
		wait := s.send()
		if stop == nil { // the queue was sent as far as possible
			return
		}
		if wait < 0 {
			select {
			case <-s.wake:
			case <-stop:
				stop = nil
			}
			continue
		}
		select {
		case <-time.After(wait):
		case <-stop:
			stop = nil
		}
	}
}

// send sends the queue. It returns the time until the next attempt, or less than 0 if the
// queue is empty.
func (s *Sender) send() (wait time.Duration) {
	for {
		batch, lost := s.next()
		if len(batch) == 0 && lost == 0 {
			return -1
		}
		err := s.transmit(batch, lost)
		s.sentBatch(batch, lost, err)
		if err != nil {
			return max(s.conn.Next().Sub(s.now()), 0)
		}
	}
}

// next takes the next batch, and returns the number of dropped messages to report to the
// server.
func (s *Sender) next() (batch [][]byte, lost uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.waiting), batchMessages)
	batch = s.waiting[:n:n]
	if s.waiting = s.waiting[n:]; len(s.waiting) == 0 {
		s.waiting = nil
	}
	for _, text := range batch {
		s.bytes -= len(text)
	}
	return batch, s.untold
}

func (s *Sender) transmit(batch [][]byte, lost uint64) error {
	if err := s.conn.Begin(); err != nil {
		return err
	}
	if lost > 0 {
		if err := s.conn.Add(s.apology(lost), nil); err != nil {
			return err
		}
	}
	for _, text := range batch {
		if err := s.conn.Add(text, nil); err != nil {
			return err
		}
	}
	return s.conn.End()
}

// apology returns the message that reports dropped messages.
func (s *Sender) apology(lost uint64) []byte {
	s.mu.Lock()
	since := s.since
	s.mu.Unlock()
	return s.origin.Append(nil, &Message{Facility: Daemon, Severity: Warning, Time: s.now(), ID: IDLog,
		Text: strconv.FormatUint(lost, 10) + " messages since " + since.UTC().Format(time.RFC3339) + " were dropped: they could not be sent in time"}, s.target.most())
}

// sentBatch records the result of a batch. A failed one returns to the head of the queue:
// the server may get part of it twice.
func (s *Sender) sentBatch(batch [][]byte, lost uint64, err error) {
	s.mu.Lock()
	before := s.problem
	s.again = s.conn.Reconnects()
	switch {
	case err == nil:
		s.sent += uint64(len(batch))
		s.untold -= lost
		s.full = s.full && len(s.waiting) > 0
		if s.target.Protocol != UDP || s.now().Sub(s.failed) >= settleTime {
			s.problem = ""
		}
	case err == ErrPaused:
		s.back(batch)
	default:
		s.back(batch)
		s.problem, s.failed = err.Error(), s.now()
		s.last = s.problem
	}
	after := s.problem
	s.mu.Unlock()
	switch {
	case before == "" && after != "":
		s.log.Warn("the syslog server cannot be reached: messages wait for it", "to", s.target.String(), "cause", after)
	case before != "" && after == "":
		s.log.Info("the syslog server takes messages again", "to", s.target.String())
	}
}

// back puts a batch at the head of the queue, and drops the oldest or newest messages if
// it is full. The caller holds the lock.
func (s *Sender) back(batch [][]byte) {
	s.waiting = append(batch, s.waiting...)
	for _, text := range batch {
		s.bytes += len(text)
	}
	for len(s.waiting) > queueMessages || s.bytes > queueBytes {
		last := len(s.waiting) - 1
		if s.drop == DropNewest {
			s.bytes -= len(s.waiting[last])
			s.waiting = s.waiting[:last]
		} else {
			s.bytes -= len(s.waiting[0])
			s.waiting = s.waiting[1:]
		}
		if s.dropped, s.untold = s.dropped+1, s.untold+1; s.untold == 1 {
			s.since = s.now()
		}
	}
}
