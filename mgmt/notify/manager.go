package notify

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/notify/mail"
)

// Store keeps documents; *store.Store is one.
type Store interface {
	ReadDocument(name string, into any) (found bool, err error)
	WriteDocument(name string, value any) error
}

// Secrets seals passwords; *certs.Book is one.
type Secrets interface {
	SealSecret(purpose string, plain []byte) ([]byte, error)
	OpenSecret(purpose string, sealed []byte) ([]byte, error)
}

// Options is what a Manager works with. Store and Secrets must be set.
type Options struct {
	Store   Store
	Secrets Secrets
	// Authorities returns a list of authorities as PEM.
	Authorities func(name string) ([]byte, error)
	Log         *slog.Logger     // nil discards
	Now         func() time.Time // nil means time.Now
	// Host is the name of this machine; nil asks the system.
	Host func() string
	// Send sends a mail; nil means mail.Send.
	Send func(context.Context, mail.Server, mail.Message) (said string, failed []*mail.Failure)
	// After is time.After, unless it is set.
	After func(time.Duration) <-chan time.Time
}

const (
	settingsName = "notify.settings"
	purpose      = "notify email password"
)

// Manager sends alerts. Make it with New. Any goroutine may call its methods, but those
// that look: one at a time may.
type Manager struct {
	options  Options
	backends backends
	told     told // of certificates
	queue    queue

	mu       sync.Mutex // guards what follows
	settings Settings
	broken   error // the settings could not be read
}

// New returns a Manager with the settings that were stored. One whose settings cannot be
// read says so and sends nothing.
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
	if o.After == nil {
		o.After = time.After
	}
	m := &Manager{options: o}
	m.queue.kick, m.queue.write = make(chan struct{}, 1), make(chan struct{}, 1)
	m.queue.ctx, m.queue.cancel = context.WithCancel(context.Background())
	if _, err := o.Store.ReadDocument(settingsName, &m.settings); err != nil {
		m.settings, m.broken = Settings{}, err
		o.Log.Error("the settings of notifications cannot be read: set them again", "error", err)
	}
	m.takeUp()
	return m
}

// Settings returns what is set. The password is in it as HasPassword says.
func (m *Manager) Settings() Settings {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settings.clone()
}

// HasPassword reports whether a password is kept.
func (e Email) HasPassword() bool { return len(e.Sealed) > 0 }

// Change edits the settings and keeps them. act is called when all is checked, right
// before; its error ends the change. Errors: *Error, and those of the store.
func (m *Manager) Change(by apply.Author, what string, edit func(*Settings) error, act func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.settings.clone()
	if err := edit(&s); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	if s.Email.CA != "" {
		if _, err := m.roots(s.Email.CA); err != nil {
			return err
		}
	}
	if err := act(); err != nil {
		return err
	}
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
	if err := m.options.Store.WriteDocument(settingsName, s); err != nil {
		return err
	}
	m.settings, m.broken = s, nil
	m.options.Log.Info("settings of notifications changed", "what", what, "by", by.Name, "source", by.Source)
	m.queue.hurry()
	return nil
}

// roots are the authorities of a list.
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

// server is the mail server that is set; *Error, Unset, when there is none.
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

// testTime bounds a mail that is sent while somebody waits.
const testTime = 20 * time.Second

// Test sends a mail now and returns what the server said. Errors: *Error.
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
	if len(failed) == 0 {
		return said, nil
	}
	var texts []string
	for _, f := range failed {
		texts = append(texts, f.Error())
	}
	return said, refuse(Unreachable, "%d of %d mails were not taken by %s: %s", len(failed), len(e.To), s.Address(), strings.Join(texts, "; "))
}

// Problem says why nothing is sent, empty when mails leave.
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
	return m.queue.problem()
}

// Close ends what is under way; mails that wait are kept for the next Manager.
func (m *Manager) Close() { m.close() }
