package syslog

import (
	"log/slog"
	"strconv"
	"sync"
	"time"
)

// The most that waits for a server: a minute of a busy log, and memory that does not
// matter.
const (
	queueMessages = 4096
	queueBytes    = 1 << 20
	// batchMessages are sent at once.
	batchMessages = 64
	// closeTime bounds how long Close waits for what is queued.
	closeTime = time.Second
	// settleTime is how long after a failure a datagram has to leave before the server
	// counts as there again: nobody says of one that it came.
	settleTime = 10 * time.Second
)

// Drop says which messages go when a queue is full.
type Drop string

// The choices.
const (
	DropOldest Drop = "oldest"
	DropNewest Drop = "newest"
)

// Stats are the messages of a server since its Sender was made.
type Stats struct {
	Target  string
	Sent    uint64
	Dropped uint64
	Waiting int
	// Reconnects is how often a connection to it ended and another one was made.
	Reconnects uint64
	// Problem is why the server does not take messages now; empty while it does.
	Problem string
	// LastError is what went wrong last, at LastErrorAt; empty when nothing did.
	LastError   string
	LastErrorAt time.Time
}

// Sender sends messages to one server, in the background. Any goroutine may call its
// methods. Make it with NewSender.
type Sender struct {
	target Target
	drop   Drop
	origin Origin
	conn   *Conn
	log    *slog.Logger
	now    func() time.Time
	wake   chan struct{} // holds one
	stop   chan struct{}
	done   chan struct{}

	mu      sync.Mutex // guards what follows
	waiting [][]byte
	bytes   int
	dropped uint64 // in all
	untold  uint64 // of these the server does not know
	since   time.Time
	sent    uint64
	problem string
	again   uint64 // reconnects
	last    string // error
	failed  time.Time
	full    bool // that messages go was logged
	closed  bool
}

// NewSender returns a Sender and starts it; Close ends it. now may be nil.
func NewSender(t Target, drop Drop, origin Origin, log *slog.Logger, now func() time.Time) *Sender {
	if now == nil {
		now = time.Now
	}
	s := &Sender{target: t, drop: drop, origin: origin, conn: NewConn(t, now), log: log, now: now,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go s.run()
	return s
}

// Send takes a message, or leaves one out. It never waits.
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

// queue puts a message behind the others, and reports whether it is to be said that
// some go. With the lock held.
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

// Stats returns what became of messages so far.
func (s *Sender) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Target: s.target.String(), Sent: s.sent, Dropped: s.dropped, Waiting: len(s.waiting), Reconnects: s.again,
		Problem: s.problem, LastError: s.last, LastErrorAt: s.failed}
}

// Close ends the Sender, after what waits was sent or a second is over.
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
		if stop == nil { // what could be sent was
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

// send sends what waits. It returns how long to wait before it is tried again, less
// than 0 when nothing is left.
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

// next takes the messages to be sent now, and how many the server is to be told were
// dropped before them.
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

// apology tells the server what it did not get.
func (s *Sender) apology(lost uint64) []byte {
	s.mu.Lock()
	since := s.since
	s.mu.Unlock()
	return s.origin.Append(nil, &Message{Facility: Daemon, Severity: Warning, Time: s.now(), ID: IDLog,
		Text: strconv.FormatUint(lost, 10) + " messages since " + since.UTC().Format(time.RFC3339) + " were dropped: they could not be sent in time"}, s.target.most())
}

// sentBatch notes what became of a batch. One that failed goes back in front of the
// others: a server may get some of it twice, rather than never.
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

// back puts a batch in front of what waits. Where that leaves too much the oldest go,
// or the newest. With the lock held.
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
