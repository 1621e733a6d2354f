package notify

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/notify/mail"
)

// enqueue queues a mail. Its recipients are those configured when it is sent.
func (m *Manager) enqueue(subject, text string) {
	m.mails.enqueue(&waiting{Message: mail.Message{Subject: subject, Text: text, At: m.options.Now()}})
}

// Delivery returns the counters of mails since the start.
func (m *Manager) Delivery() Delivery { return m.mails.delivery() }

// attemptMail implements queue.attempt for mails.
func (m *Manager) attemptMail(q *queue, w *waiting) (done bool) {
	s, e, err := m.server()
	if err != nil {
		if refused, ok := err.(*Error); ok && refused.Kind == Unset {
			q.withdrawn(w)
			return true // removed from the settings meanwhile
		}
		return q.failedForAll(w, err.Error())
	}
	open := e.To
	if w.To != nil { // some may have been removed from the settings
		open = slices.DeleteFunc(slices.Clone(w.To), func(to string) bool { return !slices.Contains(e.To, to) })
	}
	message := w.Message
	message.From, message.Host = e.From, q.options.Host()
	message.To = slices.DeleteFunc(slices.Clone(open), q.holds)
	switch {
	case len(open) == 0:
		q.withdrawn(w)
		q.settle("")
		return true
	case len(message.To) == 0:
		return false
	}
	_, failed := q.options.Send(q.ctx, s, message)
	if q.ctx.Err() != nil {
		return false
	}
	var again []string
	text := ""
	for _, f := range failed {
		text = f.Error()
		if f.Final {
			q.options.Log.Error("notification refused by the mail server", "to", f.To, "subject", w.Subject, "cause", f.Err)
			continue
		}
		again = append(again, f.To)
	}
	rest := slices.DeleteFunc(slices.Clone(open), func(to string) bool {
		return !q.holds(to) && !slices.Contains(again, to)
	})
	q.mu.Lock()
	w.taken = w.taken || len(failed) < len(message.To)
	if len(rest) > 0 { // the others have received it
		w.To, q.changed = rest, true
	}
	q.mu.Unlock()
	if len(rest) == 0 {
		q.left(w.taken, text)
		return true
	}
	if len(again) > 0 && q.failed(w, text) {
		return true
	}
	for _, to := range again {
		q.hold(to, w.tries)
	}
	return false
}

// holds reports whether a recipient is in a pause.
func (q *queue) holds(to string) bool {
	_, is := q.held[to]
	return is
}

// withdrawn counts a mail whose other recipients were removed from the settings.
func (q *queue) withdrawn(w *waiting) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.taken {
		q.sent++
	}
}

// server returns the configured mail server; *Error, Unset, if there is none.
func (m *Manager) server() (mail.Server, Email, error) {
	e := m.Settings().Email
	if e.Server == "" {
		return mail.Server{}, e, refuse(Unset, "no mail server is set: nothing is sent. Set one with `sluice notification email server=mail.example.com from=lb@example.com to=ops@example.com`")
	}
	host, port, err := splitServer(e.Server, e.TLS)
	if err != nil {
		return mail.Server{}, e, err
	}
	s := mail.Server{Host: host, Port: port, User: e.User, Secure: e.TLS}
	if e.CA != "" {
		if s.Roots, err = m.roots(e.CA); err != nil {
			return s, e, err
		}
	}
	if len(e.Sealed) > 0 {
		plain, err := m.options.Secrets.OpenSecret(purpose, e.Sealed)
		if err != nil {
			return s, e, err
		}
		s.Password = string(plain)
	}
	return s, e, nil
}

// testTime bounds a mail sent while the client waits.
const testTime = 20 * time.Second

// Test sends a mail now and returns the server's response. Errors: *Error.
func (m *Manager) Test(ctx context.Context) (said string, err error) {
	s, e, err := m.server()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, testTime)
	defer cancel()
	host := m.options.Host()
	said, failed := m.options.Send(ctx, s, mail.Message{From: e.From, To: e.To, Host: host, At: m.options.Now(), Subject: host + ": test of notifications",
		Text: "This mail was sent to see whether notifications of " + host + " arrive. They do.\n"})
	if len(failed) < len(e.To) {
		m.mails.hurry() // pending mails are sent with it
	}
	if len(failed) == 0 {
		return said, nil
	}
	var texts []string
	for _, f := range failed {
		texts = append(texts, f.Error())
	}
	return said, refuse(Unreachable, "%d of %d mails were not taken by %s: %s", len(failed), len(e.To), s.Address(), strings.Join(texts, "; "))
}
