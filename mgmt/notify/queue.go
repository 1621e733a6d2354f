package notify

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/notify/mail"
)

// The bounds of what waits: a mail that was not taken for keepTime is given up, of more
// than maxWaiting the oldest go.
const (
	maxWaiting   = 64
	keepTime     = 24 * time.Hour
	firstPause   = 30 * time.Second
	longestPause = 15 * time.Minute
)

// waiting is a mail on its way.
type waiting struct {
	mail.Message
	tries int
}

// queue is the mails that wait, and who sends them while there are some.
type queue struct {
	ctx    context.Context
	cancel context.CancelFunc
	kick   chan struct{} // holds one: try again now
	done   sync.WaitGroup

	mu      sync.Mutex // guards what follows
	mails   []*waiting
	running bool
	failure string // of the last try
	lost    int
	sent    int
	closed  bool
}

// Delivery is what became of mails.
type Delivery struct{ Sent, Waiting, Lost int }

// Delivery returns what became of mails since the start.
func (m *Manager) Delivery() Delivery {
	q := &m.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	return Delivery{q.sent, len(q.mails), q.lost}
}

func (q *queue) problem() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failure
}

// hurry has what waits tried again now.
func (q *queue) hurry() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.running {
		return
	}
	select {
	case q.kick <- struct{}{}:
	default:
	}
}

// enqueue takes a mail, which is for whom the settings name when it leaves.
func (m *Manager) enqueue(subject, text string) {
	q := &m.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	if len(q.mails) >= maxWaiting {
		q.mails[0] = nil
		q.mails = q.mails[1:]
		if q.lost++; q.lost == 1 {
			m.options.Log.Warn("notifications are dropped: too many wait for the mail server", "most", maxWaiting)
		}
	}
	q.mails = append(q.mails, &waiting{Message: mail.Message{Subject: subject, Text: text, At: m.options.Now()}})
	if !q.running {
		q.running = true
		q.done.Go(m.deliver)
	}
}

// deliver sends until nothing waits.
func (m *Manager) deliver() {
	q := &m.queue
	for {
		w := q.first()
		if w == nil {
			return
		}
		if m.attempt(w) {
			q.remove(w)
			continue
		}
		w.tries++
		select {
		case <-q.ctx.Done():
			return
		case <-q.kick:
		case <-m.options.After(pause(w.tries)):
		}
	}
}

// pause is how long is waited after so many tries.
func pause(tries int) time.Duration {
	return min(firstPause<<min(tries-1, 10), longestPause)
}

// first is the mail to be sent now; without one the sender ends.
func (q *queue) first() *waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.mails) == 0 || q.closed {
		q.running = false
		return nil
	}
	return q.mails[0]
}

func (q *queue) remove(w *waiting) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.mails, w); i >= 0 { // it may have been dropped meanwhile
		q.mails = slices.Delete(q.mails, i, i+1)
	}
}

// attempt sends a mail, and reports whether it is done with: taken, or given up.
func (m *Manager) attempt(w *waiting) (done bool) {
	s, e, err := m.server()
	if err != nil {
		if refused, ok := err.(*Error); ok && refused.Kind == Unset {
			return true // set back meanwhile
		}
		return m.failed(w, err.Error())
	}
	message := w.Message
	message.From, message.Host = e.From, m.options.Host()
	if message.To == nil {
		message.To = e.To
	}
	_, failed := m.options.Send(m.queue.ctx, s, message)
	if m.queue.ctx.Err() != nil {
		return false
	}
	var again []string
	text := ""
	for _, f := range failed {
		text = f.Error()
		if f.Final {
			m.options.Log.Error("notification refused by the mail server", "to", f.To, "subject", w.Subject, "cause", f.Err)
			continue
		}
		again = append(again, f.To)
	}
	if len(again) > 0 {
		w.To = again // the others have it
		return m.failed(w, text)
	}
	m.left(len(failed) < len(message.To), text)
	return true
}

// failed notes why a mail could not be sent. After a day it is given up.
func (m *Manager) failed(w *waiting, text string) (done bool) {
	q := &m.queue
	q.mu.Lock()
	first := q.failure == ""
	q.failure = text
	done = m.options.Now().Sub(w.At) >= keepTime
	if done {
		q.lost++
	}
	q.mu.Unlock()
	if first {
		m.options.Log.Warn("notifications do not leave: the mail server does not take them, trying again", "cause", text)
	}
	if done {
		m.options.Log.Error("notification given up after a day", "subject", w.Subject, "cause", text)
	}
	return done
}

// left notes that a mail left, or that nobody wanted it.
func (m *Manager) left(taken bool, text string) {
	q := &m.queue
	q.mu.Lock()
	was := q.failure
	if q.failure = text; taken {
		q.sent++
	} else {
		q.lost++
	}
	q.mu.Unlock()
	if was != "" && text == "" {
		m.options.Log.Info("notifications leave again")
	}
}

// close ends the sender; what waits is lost.
func (q *queue) close(log *slog.Logger) {
	q.mu.Lock()
	q.closed = true
	n := len(q.mails)
	q.mu.Unlock()
	q.cancel()
	q.done.Wait()
	if n > 0 {
		log.Warn("notifications were not sent before the end", "number", n)
	}
}
