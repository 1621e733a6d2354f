package notify

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/notify/mail"
)

// Limits of a queue: a message is dropped after keepTime without success, and the oldest
// beyond maxWaiting are dropped.
const (
	maxWaiting   = 64
	keepTime     = 24 * time.Hour
	firstPause   = 30 * time.Second
	longestPause = 2 * time.Minute
	// lastTime bounds the wait at shutdown for messages in transit. The shutdown message is
	// among them.
	lastTime = time.Second
)

// waiting is a pending message: a mail or a webhook body.
type waiting struct {
	mail.Message
	id    string // of a webhook message
	body  []byte
	tries int
	taken bool // some recipient has received it
}

// waitingName is the document of pending mails, which survive restarts. Each webhook has
// its own document, named with a dot and the webhook's name.
const waitingName = "notify.waiting"

// keptMail is a message in that document. To is empty for all configured recipients, else it
// holds those that have not received it.
type keptMail struct {
	Subject string          `json:"subject"`
	Text    string          `json:"text,omitempty"`
	At      time.Time       `json:"at"`
	To      []string        `json:"to,omitempty"`
	Tries   int             `json:"tries,omitempty"`
	ID      string          `json:"id,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
	Taken   bool            `json:"taken,omitempty"`
}

// queue holds the pending messages of one receiver, and the goroutine that sends them. Queues
// do not affect each other.
type queue struct {
	options *Options
	name    string // of the document
	to      string // the receiver's name in the log
	// attempt sends a message to the recipients that are not held, and reports whether it is
	// finished: accepted or dropped by all. Otherwise its other recipients are held then.
	attempt func(*waiting) (done bool)

	ctx    context.Context
	cancel context.CancelFunc
	kick   chan struct{} // capacity 1: retry now
	write  chan struct{} // capacity 1: there is a new message
	done   sync.WaitGroup

	// held are the recipients that get nothing until their pause ends, with that time. Thus
	// one of them does not delay the others. Only the sender uses it.
	held map[string]time.Time

	mu      sync.Mutex // guards the fields below
	list    []*waiting
	running bool
	resting bool   // in a pause, and everything else was attempted
	failure string // of the last attempt
	lost    int
	sent    int
	closed  bool
	changed bool // since it was stored
	unkept  bool // it could not be stored, which has been logged
	full    bool // messages were dropped because too many waited, which has been logged
}

func newQueue(o *Options, name, to string, attempt func(*queue, *waiting) bool) *queue {
	q := &queue{options: o, name: name, to: to, kick: make(chan struct{}, 1), write: make(chan struct{}, 1),
		held: map[string]time.Time{}}
	q.attempt = func(w *waiting) bool { return attempt(q, w) }
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q
}

// Delivery holds the counters of messages.
type Delivery struct{ Sent, Waiting, Lost int }

func (q *queue) delivery() Delivery {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Delivery{q.sent, len(q.list), q.lost}
}

func (q *queue) problem() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failure
}

// hurry makes the queue retry now.
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

// enqueue adds a message.
func (q *queue) enqueue(w *waiting) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	if len(q.list) >= maxWaiting {
		q.dropped(q.list[0])
		q.list[0] = nil
		q.list = q.list[1:]
		if !q.full {
			q.full = true
			q.options.Log.Warn("notifications are dropped: too many wait for "+q.to, "most", maxWaiting)
		}
	}
	q.list = append(q.list, w)
	q.changed, q.resting = true, false
	if !q.running {
		q.running = true
		q.done.Go(q.deliver)
		return
	}
	select {
	case q.write <- struct{}{}:
	default:
	}
}

// dropped counts a message that some or all recipients do not get. q.mu is held.
func (q *queue) dropped(w *waiting) {
	if w.taken {
		q.sent++
	} else {
		q.lost++
	}
}

// takeUp resumes the messages left by an earlier process.
func (q *queue) takeUp() {
	var list []keptMail
	if _, err := q.options.Store.ReadDocument(q.name, &list); err != nil {
		q.options.Log.Error("notifications that waited for "+q.to+" cannot be read: they are lost", "error", err)
	}
	for _, k := range list[max(0, len(list)-maxWaiting):] {
		m := mail.Message{Subject: k.Subject, Text: k.Text, At: k.At, To: k.To}
		q.list = append(q.list, &waiting{Message: m, id: k.ID, body: k.Body, tries: k.Tries, taken: k.Taken})
	}
	if len(q.list) > 0 {
		q.running = true
		q.done.Go(q.deliver)
	}
}

// keep stores the queue if it changed. Only the sender and Close call it.
func (q *queue) keep() {
	q.mu.Lock()
	changed, list := q.changed, []keptMail{}
	for _, w := range q.list {
		list = append(list, keptMail{w.Subject, w.Text, w.At, w.To, w.tries, w.id, w.body, w.taken})
	}
	q.changed = false
	q.mu.Unlock()
	if !changed {
		return
	}
	err := q.options.Store.WriteDocument(q.name, list)
	q.mu.Lock()
	first := err != nil && !q.unkept
	q.unkept, q.changed = err != nil, q.changed || err != nil
	q.mu.Unlock()
	if first {
		q.options.Log.Error("notifications that wait for "+q.to+" cannot be kept: a restart loses them", "error", err)
	}
}

// everyone is the recipient in held if nobody gets anything.
const everyone = ""

// hold begins the pause of a recipient after a number of attempts.
func (q *queue) hold(to string, tries int) { q.held[to] = q.options.Now().Add(pause(tries)) }

// deliver sends until the queue is empty.
func (q *queue) deliver() {
	var over <-chan time.Time // the end of the first pause
	var end time.Time         // its time
	clear(q.held)
	for q.pass() {
		if first := q.firstEnd(); over == nil || first.Before(end) {
			end = first
			over = q.options.After(min(first.Sub(q.options.Now()), longestPause))
		}
		select {
		case <-q.ctx.Done():
			return
		case <-q.write: // recipients that are not held get the new message now
			continue
		case <-q.kick:
			clear(q.held)
		case <-over: // not the clock, which may have been set back
			maps.DeleteFunc(q.held, func(_ string, until time.Time) bool { return !until.After(end) })
		}
		over = nil
	}
}

// firstEnd returns when the first pause ends.
func (q *queue) firstEnd() (first time.Time) {
	for _, until := range q.held {
		if first.IsZero() || until.Before(first) {
			first = until
		}
	}
	if first.IsZero() {
		first = q.options.Now().Add(firstPause)
	}
	return first
}

// pass attempts every message once, the oldest first. If more is false, the sender ends.
func (q *queue) pass() (more bool) {
	seen := map[*waiting]bool{}
	for {
		q.keep()
		w, more := q.next(seen)
		if w == nil {
			return more
		}
		seen[w] = true
		if q.attempt(w) {
			q.remove(w)
		}
	}
}

// pause returns the pause after that many attempts.
func pause(tries int) time.Duration {
	return min(firstPause<<min(max(tries-1, 0), 10), longestPause)
}

// next returns the oldest message outside of seen, nil without one. If the queue is empty or
// closed, more is false, and the sender ends.
func (q *queue) next(seen map[*waiting]bool) (w *waiting, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) == 0 || q.closed {
		q.running = false
		return nil, false
	}
	if _, all := q.held[everyone]; !all {
		for _, w := range q.list {
			if !seen[w] {
				return w, true
			}
		}
	}
	q.resting = true
	return nil, true
}

func (q *queue) remove(w *waiting) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.list, w); i >= 0 { // it may have been dropped meanwhile
		q.list, q.changed = slices.Delete(q.list, i, i+1), true
	}
}

// failed records the error of an attempt. The message is dropped after a day.
func (q *queue) failed(w *waiting, text string) (done bool) {
	q.mu.Lock()
	first := q.failure == ""
	w.tries++
	q.failure, q.changed = text, true
	done = q.options.Now().Sub(w.At) >= keepTime
	if done {
		q.dropped(w)
	}
	q.mu.Unlock()
	if first {
		q.options.Log.Warn("notifications do not leave: "+q.to+" does not take them, trying again", "cause", text)
	}
	if done {
		q.options.Log.Error("notification given up after a day", "receiver", q.to, "subject", w.Subject, "cause", text)
	}
	return done
}

// failedForAll is failed for an error that concerns all recipients.
func (q *queue) failedForAll(w *waiting, text string) (done bool) {
	if q.failed(w, text) {
		return true
	}
	q.hold(everyone, w.tries)
	return false
}

// left records the end of a message: taken means that it was delivered, otherwise the
// receiver rejected it.
func (q *queue) left(taken bool, text string) {
	q.mu.Lock()
	if taken {
		q.sent++
	} else {
		q.lost++
	}
	q.mu.Unlock()
	q.settle(text)
}

// settle records the error of a message that is finished, "" for none. The error of a
// recipient that is held stays.
func (q *queue) settle(text string) {
	if text == "" && len(q.held) > 0 {
		return
	}
	q.mu.Lock()
	was := q.failure
	q.failure = text
	q.mu.Unlock()
	if was != "" && text == "" {
		q.options.Log.Info("notifications leave again", "receiver", q.to)
	}
}

// drop ends the sender and discards the queue.
func (q *queue) drop() {
	q.mu.Lock()
	q.closed, q.list = true, nil
	q.mu.Unlock()
	q.cancel()
	q.done.Wait()
}

// finish waits for messages in transit. Recipients in a pause do not delay the end.
func (q *queue) finish() {
	for limit := time.Now().Add(lastTime); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		q.mu.Lock()
		over := !q.running || q.resting
		q.mu.Unlock()
		if over {
			return
		}
	}
}

// close ends the sender. The next process resumes the queue.
func (q *queue) close() {
	q.finish()
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.cancel()
	q.done.Wait()
	q.keep()
	q.mu.Lock()
	n, lost := len(q.list), q.unkept
	q.mu.Unlock()
	switch {
	case n > 0 && lost:
		q.options.Log.Warn("notifications were not sent before the end", "receiver", q.to, "number", n)
	case n > 0:
		q.options.Log.Info("notifications wait for the next start", "receiver", q.to, "number", n)
	}
}
