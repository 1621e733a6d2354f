package cloud

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/outbound"
)

// Secrets seals secrets; *certs.Book implements it.
type Secrets interface {
	SealSecret(purpose string, plain []byte) ([]byte, error)
	OpenSecret(purpose string, sealed []byte) ([]byte, error)
}

// Keeper stores documents; *store.Store implements it.
type Keeper interface {
	ReadDocument(name string, into any) (found bool, err error)
	WriteDocument(name string, value any) error
}

// Options holds the parameters of a Manager. AWS, Azure and Now have defaults.
type Options struct {
	Store   Keeper
	Secrets Secrets
	// Proxy returns the proxy for requests to clouds; nil: the proxy of the environment.
	Proxy func() outbound.Proxy
	Log   *slog.Logger
	Now   func() time.Time
	// AWS returns the address of STS in a region. Azure is the address of the token
	// endpoints.
	AWS   func(region string) string
	Azure string
}

// Account is the account of valid credentials.
type Account struct {
	ID   string // account of AWS, tenant of Azure
	Name string // user in it
}

const (
	document = "cloud credentials"
	purpose  = "cloud credentials"
	// askTime limits the time of one request, maxAnswer the size of its answer.
	askTime   = 15 * time.Second
	maxAnswer = 64 << 10
)

// Patience is how long a check may take.
const Patience = 2 * askTime

// Manager stores the credentials; make it with New. Any goroutine may use it.
type Manager struct {
	options Options
	mu      sync.Mutex // one change at a time
}

// New returns a Manager. It reads and requests nothing in advance.
func New(o Options) *Manager {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.AWS == nil {
		o.AWS = func(region string) string { return "https://sts." + region + ".amazonaws.com/" }
	}
	o.Azure = cmp.Or(o.Azure, "https://login.microsoftonline.com")
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Manager{options: o}
}

// Kept returns the stored credentials without the secret; Provider is empty if there are
// none.
func (m *Manager) Kept() (Credentials, error) {
	c, err := m.read()
	c.Sealed = nil
	return c, err
}

func (m *Manager) read() (c Credentials, err error) {
	_, err = m.options.Store.ReadDocument(document, &c)
	return c, err
}

// Check checks the stored credentials with the cloud. It returns *Error if none are stored,
// or if the cloud refuses them or does not answer.
func (m *Manager) Check(ctx context.Context) (Account, error) {
	c, err := m.read()
	switch {
	case err != nil:
		return Account{}, err
	case c.Provider == "":
		return Account{}, &Error{"there are no credentials of a cloud"}
	}
	secret, err := m.options.Secrets.OpenSecret(purpose, c.Sealed)
	if err != nil {
		return Account{}, &Error{"the secret cannot be opened with the key of this node: set the credentials again"}
	}
	c.Secret = string(secret)
	return m.verify(ctx, &c)
}

// Set stores credentials after the cloud has accepted them. If it refuses them with *Error,
// the previous ones are removed too. act is called after the check of their form; an error
// of act ends the change.
func (m *Manager) Set(ctx context.Context, by apply.Author, c Credentials, act func() error) (Account, error) {
	if err := c.check(); err != nil {
		return Account{}, err
	}
	if err := act(); err != nil {
		return Account{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	account, err := m.verify(ctx, &c)
	if err != nil {
		if out := m.forget(by); out != nil {
			return Account{}, out
		}
		return Account{}, &Error{err.Error() + "; the appliance is logged out of the cloud"}
	}
	if c.Sealed, err = m.options.Secrets.SealSecret(purpose, []byte(c.Secret)); err != nil {
		return Account{}, fmt.Errorf("the secret cannot be kept: %w", err)
	}
	if err := m.options.Store.WriteDocument(document, c); err != nil {
		return Account{}, err
	}
	m.options.Log.Info("credentials of the cloud set", "provider", c.Provider, "id", c.ID, "place", c.Place, "account", account.ID, "by", by.Name, "source", by.Source)
	return account, nil
}

// LogOut removes the credentials.
func (m *Manager) LogOut(by apply.Author) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.forget(by)
}

func (m *Manager) forget(by apply.Author) error {
	c, err := m.read()
	if err != nil || c.Provider == "" {
		return err
	}
	if err := m.options.Store.WriteDocument(document, Credentials{}); err != nil {
		return err
	}
	m.options.Log.Info("logged out of the cloud", "provider", c.Provider, "by", by.Name, "source", by.Source)
	return nil
}

func (m *Manager) verify(ctx context.Context, c *Credentials) (Account, error) {
	if c.Provider == AWS {
		return m.askAWS(ctx, c)
	}
	return m.askAzure(ctx, c)
}

// ask sends one request and reads the answer. It does not follow redirects, since the
// request contains secrets.
func (m *Manager) ask(r *http.Request) (status int, answer []byte, err error) {
	transport := outbound.Transport(outbound.Options{Proxy: m.options.Proxy, Environment: true, Timeout: askTime, Guard: outbound.Remote})
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: askTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	got, err := client.Do(r)
	if err != nil {
		m.options.Log.Warn("the cloud does not answer", "host", r.URL.Host, "cause", err)
		return 0, nil, &Error{"the cloud does not answer at " + r.URL.Host + ": see the log"}
	}
	defer got.Body.Close()
	if answer, err = io.ReadAll(io.LimitReader(got.Body, maxAnswer)); err != nil {
		return 0, nil, &Error{"the answer of " + r.URL.Host + " ended early"}
	}
	return got.StatusCode, answer, nil
}

// refused returns the error for a refusal of the cloud. Its code is shown as one word.
func refused(status int, code string) error {
	if code = plain(code); code == "" {
		return &Error{fmt.Sprintf("the cloud refuses the credentials: status %d", status)}
	}
	return &Error{fmt.Sprintf("the cloud refuses the credentials: %s, status %d", code, status)}
}

// plain returns a foreign text in a form for messages.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return -1
		}
		return r
	}, s[:min(len(s), 200)])
}
