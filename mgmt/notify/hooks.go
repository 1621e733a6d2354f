package notify

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/notify/mail"
	"github.com/sluicelb/sluice/mgmt/notify/webhook"
)

// hook is the digest and queue of one webhook.
type hook struct {
	name   string
	digest digest
	queue  *queue
}

// hookPurpose returns the purpose for sealing the secret of a webhook.
func hookPurpose(name string) string { return "notify webhook " + name }

// setHooks updates hooks from the settings and returns the removed ones; the caller holds
// m.mu. A remaining hook keeps its queue and retries now.
func (m *Manager) setHooks() (gone []*hook) {
	before := m.hooks
	m.hooks = nil
	for _, w := range m.settings.Webhooks {
		i := slices.IndexFunc(before, func(k *hook) bool { return k.name == w.Name })
		if i >= 0 {
			m.hooks = append(m.hooks, before[i])
			before[i].queue.hurry()
			before = slices.Delete(slices.Clone(before), i, i+1)
			continue
		}
		k := &hook{name: w.Name, queue: newQueue(&m.options, waitingName+"."+w.Name, "the webhook "+w.Name, m.attemptHook)}
		k.queue.takeUp()
		m.hooks = append(m.hooks, k)
	}
	return before
}

// end deletes the queue of a removed webhook.
func (k *hook) end() {
	k.queue.drop()
	if err := k.queue.options.Store.DeleteDocument(k.queue.name); err != nil {
		k.queue.options.Log.Error("what waited for a webhook that is gone cannot be forgotten", "webhook", k.name, "error", err)
	}
}

// Post is the body of a webhook message.
type Post struct {
	ID       string         `json:"id"`
	Host     string         `json:"host"`
	Time     time.Time      `json:"time"`
	Severity event.Severity `json:"severity"` // the worst of all events
	Summary  string         `json:"summary"`
	Events   []event.Shown  `json:"events"`
	More     int            `json:"more,omitempty"` // events that did not fit
}

// post queues a message for a webhook.
func (m *Manager) post(k *hook, d *digest) {
	w, err := m.message(d)
	if err != nil {
		m.options.Log.Error("notification cannot be written", "webhook", k.name, "error", err)
		return
	}
	k.queue.enqueue(w)
}

func (m *Manager) message(d *digest) (*waiting, error) {
	now := m.options.Now()
	p := Post{ID: newID(), Host: m.options.Host(), Time: now.UTC(), Severity: d.severity(), Summary: d.summary(), More: d.more}
	for i := range d.list {
		h := d.list[i].Shown
		h.Time = h.Time.UTC()
		p.Events = append(p.Events, h)
	}
	body, err := json.Marshal(p)
	return &waiting{Message: mail.Message{Subject: p.Summary, At: now}, id: p.ID, body: body}, err
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// attemptHook implements queue.attempt for webhooks.
func (m *Manager) attemptHook(q *queue, w *waiting) (done bool) {
	name := strings.TrimPrefix(q.name, waitingName+".")
	r, err := m.receiver(name)
	if err != nil {
		if refused, ok := err.(*Error); ok && refused.Kind == Missing {
			return true // removed
		}
		return q.failedForAll(w, err.Error())
	}
	_, err = m.options.Post(q.ctx, r, webhook.Message{ID: w.id, Body: w.body, At: m.options.Now()})
	if q.ctx.Err() != nil {
		return false
	}
	failure, _ := err.(*webhook.Failure)
	switch {
	case err == nil:
		q.left(true, "")
		return true
	case failure != nil && failure.Final:
		m.options.Log.Error("notification refused by a webhook", "webhook", name, "subject", w.Subject, "cause", err)
		q.left(false, err.Error())
		return true
	}
	return q.failedForAll(w, err.Error())
}

// receiver returns the connection data of a webhook; *Error, Missing.
func (m *Manager) receiver(name string) (r webhook.Receiver, err error) {
	s := m.Settings()
	w := s.webhook(name)
	if w == nil {
		return r, noWebhook(name)
	}
	r = webhook.Receiver{URL: w.URL, Proxy: m.options.Proxy}
	if w.CA != "" {
		if r.Roots, err = m.roots(w.CA); err != nil {
			return r, err
		}
	}
	if r.Secret, err = m.options.Secrets.OpenSecret(hookPurpose(name), w.Sealed); err != nil {
		return r, fmt.Errorf("the secret cannot be read, set it again: %w", err)
	}
	return r, nil
}

func noWebhook(name string) *Error {
	return refuse(Missing, "the webhook %s does not exist", show(name))
}

// HookView describes a webhook and the delivery of its messages.
type HookView struct {
	Webhook
	Delivery
	// Problem is the reason why messages do not arrive, "" while they do.
	Problem string
}

// Webhooks returns all webhooks.
func (m *Manager) Webhooks() (out []HookView) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range m.hooks {
		if w := m.settings.webhook(k.name); w != nil {
			out = append(out, HookView{w.clone(), k.queue.delivery(), k.queue.problem()})
		}
	}
	return out
}

// Webhook returns one webhook; *Error, Missing.
func (m *Manager) Webhook(name string) (HookView, error) {
	for _, v := range m.Webhooks() {
		if v.Name == name {
			return v, nil
		}
	}
	return HookView{}, noWebhook(name)
}

// AddWebhook adds a webhook. Errors: *Error, errors of Change.
func (m *Manager) AddWebhook(by apply.Author, w Webhook, act func() error) error {
	return m.Change(by, "webhook "+show(w.Name)+" created", func(s *Settings) error {
		if s.webhook(w.Name) != nil {
			return refuse(Already, "the webhook %s exists already", show(w.Name))
		}
		s.Webhooks = append(s.Webhooks, w)
		return nil
	}, act)
}

// ChangeWebhook edits a webhook. Errors: *Error, errors of edit and of Change.
func (m *Manager) ChangeWebhook(by apply.Author, name string, edit func(*Webhook) error, act func() error) error {
	return m.Change(by, "webhook "+show(name)+" changed", func(s *Settings) error {
		w := s.webhook(name)
		if w == nil {
			return noWebhook(name)
		}
		return edit(w)
	}, act)
}

// RemoveWebhook deletes a webhook and its queue. Errors: *Error, errors of Change.
func (m *Manager) RemoveWebhook(by apply.Author, name string, act func() error) error {
	return m.Change(by, "webhook "+show(name)+" deleted", func(s *Settings) error {
		if s.webhook(name) == nil {
			return noWebhook(name)
		}
		s.Webhooks = slices.DeleteFunc(s.Webhooks, func(w Webhook) bool { return w.Name == name })
		return nil
	}, act)
}

// TestWebhook sends a message now and returns the status of the response. Errors: *Error.
func (m *Manager) TestWebhook(ctx context.Context, name string) (status string, err error) {
	r, err := m.receiver(name)
	if err != nil {
		return "", err
	}
	now := m.options.Now()
	host := m.options.Host()
	text := "This message was sent to see whether notifications of " + host + " arrive."
	d := digest{list: []Happening{{event.Shown{Kind: "test", Severity: event.Info, Time: now, Text: text}, text}}}
	w, err := m.message(&d)
	if err != nil {
		return "", err
	}
	if status, err = m.options.Post(ctx, r, webhook.Message{ID: w.id, Body: w.body, At: now}); err != nil {
		return "", refuse(Unreachable, "the webhook %s did not take the message: %s", name, err)
	}
	return status, nil
}
