package notify

import (
	"context"
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

// waitingName is the document of mails that wait: they outlive this process.
const waitingName = "notify.waiting"

// keptMail is a mail in that document. To is empty for all the settings name.
type keptMail struct {
	Subject string    `json:"subject"`
	Text    string    `json:"text"`
	At      time.Time `json:"at"`
	To      []string  `json:"to,omitempty"`
	Tries   int       `json:"tries,omitempty"`
}

// queue is the mails that wait, and who sends them while there are some.
type queue struct {
	ctx    context.Context
	cancel context.CancelFunc
	kick   chan struct{} // holds one: try again now
	write  chan struct{} // holds one: what waits is to be written down
	done   sync.WaitGroup

	mu      sync.Mutex // guards what follows
	mails   []*waiting
	running bool
	failure string // of the last try
	lost    int
	sent    int
	closed  bool
	changed bool // since it was written down
	unkept  bool // it could not be written down, which was said
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
	q.changed = true
	if !q.running {
		q.running = true
		q.done.Go(m.deliver)
		return
	}
	select {
	case q.write <- struct{}{}:
	default:
	}
}

// takeUp goes on with the mails an earlier process did not get rid of.
func (m *Manager) takeUp() {
	var list []keptMail
	if _, err := m.options.Store.ReadDocument(waitingName, &list); err != nil {
		m.options.Log.Error("notifications that waited for the mail server cannot be read: they are lost", "error", err)
	}
	q := &m.queue
	for _, k := range list[max(0, len(list)-maxWaiting):] {
		q.mails = append(q.mails, &waiting{Message: mail.Message{Subject: k.Subject, Text: k.Text, At: k.At, To: k.To}, tries: k.Tries})
	}
	if len(q.mails) > 0 {
		q.running = true
		q.done.Go(m.deliver)
	}
}

// keep writes down what waits, if that changed. Only the sender calls it, and Close.
func (m *Manager) keep() {
	q := &m.queue
	q.mu.Lock()
	changed, list := q.changed, []keptMail{}
	for _, w := range q.mails {
		list = append(list, keptMail{w.Subject, w.Text, w.At, w.To, w.tries})
	}
	q.changed = false
	q.mu.Unlock()
	if !changed {
		return
	}
	err := m.options.Store.WriteDocument(waitingName, list)
	q.mu.Lock()
	first := err != nil && !q.unkept
	q.unkept, q.changed = err != nil, q.changed || err != nil
	q.mu.Unlock()
	if first {
		m.options.Log.Error("notifications that wait for the mail server cannot be kept: a restart loses them", "error", err)
	}
}

// deliver sends until nothing waits.
func (m *Manager) deliver() {
	q := &m.queue
	for {
		m.keep()
		w := q.first()
		if w == nil {
			return
		}
		if m.attempt(w) {
			q.remove(w)
			continue
		}
		q.mu.Lock()
		w.tries++
		q.changed = true
		q.mu.Unlock()
		m.keep()
		if !m.rest(m.options.After(pause(w.tries))) {
			return
		}
	}
}

// rest waits for the next try, and meanwhile has what comes written down. It is false
// at the end.
func (m *Manager) rest(over <-chan time.Time) bool {
	for q := &m.queue; ; {
		select {
		case <-q.ctx.Done():
			return false
		case <-q.write:
			m.keep()
		case <-q.kick:
			return true
		case <-over:
			return true
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
		q.mails, q.changed = slices.Delete(q.mails, i, i+1), true
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
		m.queue.mu.Lock()
		w.To = again // the others have it
		m.queue.mu.Unlock()
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

// close ends the sender. What waits goes on with the next process.
func (m *Manager) close() {
	q := &m.queue
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.cancel()
	q.done.Wait()
	m.keep()
	q.mu.Lock()
	n, lost := len(q.mails), q.unkept
	q.mu.Unlock()
	switch {
	case n > 0 && lost:
		m.options.Log.Warn("notifications were not sent before the end", "number", n)
	case n > 0:
		m.options.Log.Info("notifications wait for the next start", "number", n)
	}
}
