package notify

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/notify/mail"
	"github.com/sluicelb/sluice/mgmt/notify/webhook"
	"github.com/sluicelb/sluice/mgmt/outbound"
)

// Store stores documents; *store.Store implements it.
type Store interface {
	ReadDocument(name string, into any) (found bool, err error)
	WriteDocument(name string, value any) error
	DeleteDocument(name string) error
}

// Secrets seals passwords; *certs.Book implements it.
type Secrets interface {
	SealSecret(purpose string, plain []byte) ([]byte, error)
	OpenSecret(purpose string, sealed []byte) ([]byte, error)
}

// Options are the parameters of a Manager. Store and Secrets must be set.
type Options struct {
	Store   Store
	Secrets Secrets
	// Authorities returns an authority list as PEM.
	Authorities func(name string) ([]byte, error)
	Log         *slog.Logger     // nil discards
	Now         func() time.Time // nil means time.Now
	// Host returns the name of this machine; nil: the system's.
	Host func() string
	// Send sends a mail; nil means mail.Send.
	Send func(context.Context, mail.Server, mail.Message) (said string, failed []*mail.Failure)
	// Post sends a message to a webhook once; nil means webhook.Send.
	Post func(context.Context, webhook.Receiver, webhook.Message) (status string, err error)
	// Proxy is the proxy for webhook messages; nil: none.
	Proxy func() outbound.Proxy
	// Tell receives the events detected here, for channels other than mails and webhooks; may
	// be nil.
	Tell func(event.Event)
	// After replaces time.After if set.
	After func(time.Duration) <-chan time.Time
}

const (
	settingsName = "notify.settings"
	purpose      = "notify email password"
)

// Manager sends alerts. Use New to make one. Any goroutine may call its methods, except the
// Look methods, which must not run concurrently.
type Manager struct {
	options Options
	states  states
	// Reported certificates.
	toldMail, toldEvents told
	mails                *queue

	changing sync.Mutex // serialises changes of settings
	mu       sync.Mutex // guards the fields below
	settings Settings
	digest   digest  // of mails
	hooks    []*hook // one for each configured webhook
	broken   error   // the settings could not be read
}

// New returns a Manager with the stored settings. If they are unreadable, it reports that and
// sends no messages.
func New(o Options) *Manager {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Host == nil {
		o.Host = func() string { host, _ := os.Hostname(); return host }
	}
	if o.Send == nil {
		o.Send = mail.Send
	}
	if o.Post == nil {
		o.Post = webhook.Send
	}
	if o.After == nil {
		o.After = time.After
	}
	m := &Manager{options: o, toldMail: told{document: toldName}, toldEvents: told{document: toldEventsName}}
	m.mails = newQueue(&m.options, waitingName, "the mail server", m.attemptMail)
	if _, err := o.Store.ReadDocument(settingsName, &m.settings); err != nil {
		m.settings, m.broken = Settings{}, err
		o.Log.Error("the settings of notifications cannot be read: set them again", "error", err)
	}
	m.mails.takeUp()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.setHooks()
	return m
}

// Settings returns the settings. The password is present only as HasPassword.
func (m *Manager) Settings() Settings {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settings.clone()
}

// HasPassword reports whether a password is stored.
func (e Email) HasPassword() bool { return len(e.Sealed) > 0 }

// Change edits and stores the settings. The function act is called after validation, just
// before storing; its error aborts the change. Errors: *Error, errors of the store.
func (m *Manager) Change(by apply.Author, what string, edit func(*Settings) error, act func() error) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	gone, err := m.change(by, what, edit, act)
	for _, k := range gone { // outside of the lock, as an attempt in progress reads the settings
		k.end()
	}
	return err
}

func (m *Manager) change(by apply.Author, what string, edit func(*Settings) error, act func() error) (gone []*hook, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.settings.clone()
	if err := edit(&s); err != nil {
		return nil, err
	}
	if err := s.Email.keepsPassword(&m.settings.Email); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := reachable(m.settings.Email.Server, &s.Email); err != nil {
		return nil, err
	}
	if err := m.checkAuthorities(&s); err != nil {
		return nil, err
	}
	if err := act(); err != nil {
		return nil, err
	}
	if err := m.seal(&s); err != nil {
		return nil, err
	}
	if err := m.options.Store.WriteDocument(settingsName, s); err != nil {
		return nil, err
	}
	m.settings, m.broken = s, nil
	m.options.Log.Info("settings of notifications changed", "what", what, "by", by.Name, "source", by.Source)
	m.mails.hurry()
	return m.setHooks(), nil
}

// seal seals the new secrets.
func (m *Manager) seal(s *Settings) error {
	if p := s.Email.Password; p != nil {
		s.Email.Sealed, s.Email.Password = nil, nil
		if *p != "" {
			sealed, err := m.options.Secrets.SealSecret(purpose, []byte(*p))
			if err != nil {
				return fmt.Errorf("the password cannot be kept: %w", err)
			}
			s.Email.Sealed = sealed
		}
	}
	for i := range s.Webhooks {
		w := &s.Webhooks[i]
		if w.Secret == nil {
			continue
		}
		sealed, err := m.options.Secrets.SealSecret(hookPurpose(w.Name), []byte(*w.Secret))
		if err != nil {
			return fmt.Errorf("the secret cannot be kept: %w", err)
		}
		w.Sealed, w.Secret = sealed, nil
	}
	return nil
}

// checkAuthorities returns an error for a missing authority list.
func (m *Manager) checkAuthorities(s *Settings) error {
	names := []string{s.Email.CA}
	for _, w := range s.Webhooks {
		names = append(names, w.CA)
	}
	for _, name := range names {
		if name == "" {
			continue
		}
		if _, err := m.roots(name); err != nil {
			return err
		}
	}
	return nil
}

// roots returns the authorities of a list.
func (m *Manager) roots(name string) (*x509.CertPool, error) {
	if m.options.Authorities == nil {
		return nil, invalid("ca: there are no lists of authorities")
	}
	pem, err := m.options.Authorities(name)
	if err != nil {
		return nil, invalid("ca: %s", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return pool, nil
}

// Problem explains why nothing is sent, "" if mails are sent.
func (m *Manager) Problem() string {
	m.mu.Lock()
	broken, server := m.broken, m.settings.Email.Server
	m.mu.Unlock()
	switch {
	case broken != nil:
		return "the settings cannot be read: set them again"
	case server == "":
		return "no mail server is set: nothing is sent"
	}
	return m.mails.problem()
}

// Close sends the events that wait to be summarised, and ends deliveries in progress; pending
// messages are kept for the next Manager.
func (m *Manager) Close() {
	m.sendRest()
	m.mu.Lock()
	hooks := m.hooks
	m.mu.Unlock()
	var ending sync.WaitGroup
	ending.Go(m.mails.close)
	for _, k := range hooks {
		ending.Go(k.queue.close)
	}
	ending.Wait()
}
