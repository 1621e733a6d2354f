package certs

import (
	"context"
	"crypto"
	"crypto/x509"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/store"
)

// MaxCertificates and MaxAuthorities bound the numbers of certificates and authority lists.
const (
	MaxCertificates = 4096
	MaxAuthorities  = 256
)

// Applier is the only writer of the configuration; *apply.Applier implements it.
type Applier interface {
	Current() (*farm.Config, store.Revision)
	Renew(ctx context.Context, prepare func(*farm.Config) (apply.Renewal, error)) error
	WayBack() (*farm.Config, error)
}

// Manager changes a Book. Use NewManager to make one.
type Manager struct {
	*Book
	// Told is called after a certificate changed. It must not block. nil: no notification.
	// Set it before the first change.
	Told func(Change)

	applier Applier
	fetch   func(ctx context.Context, e *entry) ([]byte, error)
	kick    chan struct{} // wakes Run

	mu     sync.Mutex          // guards the fields below
	asked  map[string]*attempt // OCSP attempts, by name
	warned map[string]int      // threshold of the last expiry warning, by name
	day    time.Time           // of the last expiry check
	locked bool                // the node key was unusable at the last check
}

// NewManager returns a Manager. Run performs its periodic tasks.
func NewManager(b *Book, a Applier) *Manager {
	m := &Manager{Book: b, applier: a, kick: make(chan struct{}, 1), asked: map[string]*attempt{}, warned: map[string]int{}}
	m.fetch = m.askResponder
	_, _, err := b.node.load()
	m.locked = err != nil
	return m
}

// Mode defines whether an upload may replace an existing object.
type Mode int

// Modes of an upload.
const (
	Create  Mode = iota // the name must be unused
	Replace             // the name must exist
	Put                 // either
)

// Upload stores a certificate in PEM, DER or PKCS #12 without a password under a name. If a
// running farm uses the name, the certificate is in force on return; existing connections are
// not affected. The key may be missing if it is the key of a CSR, which is then completed and
// removed, or of the replaced certificate.
//
// Errors: *Error, ErrExists, ErrNotFound, ErrFull, and errors of apply.Renew and of the store.
func (m *Manager) Upload(ctx context.Context, by apply.Author, name string, raw []byte, mode Mode) (View, []string, error) {
	return m.UploadOver(ctx, by, name, raw, mode, "")
}

// UploadOver is Upload in place of the certificate with that fingerprint, any if it is "".
// Another error is ErrReplaced.
func (m *Manager) UploadOver(
	ctx context.Context, by apply.Author, name string, raw []byte, mode Mode, fingerprint string,
) (View, []string, error) {
	name, err := CertificateName(name)
	if err != nil {
		return View{}, nil, err
	}
	if raw, err = Unpack(raw, ""); err != nil { // outside of the lock, as it may take a while
		return View{}, nil, err
	}
	var bundle *Bundle
	var done *entry
	var replaced bool
	err = m.applier.Renew(ctx, func(cfg *farm.Config) (apply.Renewal, error) {
		old := m.entry(name)
		if err := m.mayUpload(name, old, mode); err != nil {
			return apply.Renewal{}, err
		}
		if err := m.isStill(old, name, fingerprint); err != nil {
			return apply.Renewal{}, err
		}
		known := m.knownKeys(old)
		var err error
		if bundle, err = Parse(raw, m.now(), publicKeys(known)...); err != nil {
			return apply.Renewal{}, err
		}
		if issuer := m.missingIssuer(bundle.Chain); issuer != "" {
			bundle.warn(incomplete(issuer, bundle.Leaf()))
		}
		users := running(cfg, name, false)
		if len(users) > 0 && m.now().Before(bundle.Leaf().NotBefore) {
			return apply.Renewal{}, invalid("the certificate is not valid before %s and a running farm uses the name: upload it then, or under another name", bundle.Leaf().NotBefore.UTC().Format(time.RFC3339))
		}
		var completed *entry
		if done, completed, err = m.newEntry(name, bundle, known, by); err != nil {
			return apply.Renewal{}, err
		}
		if old != nil && old.broken == nil && old.chain[0].Equal(bundle.Leaf()) {
			done.rec.Staple, done.staple = old.rec.Staple, done.readStaple(old.rec.Staple)
		}
		done.rec.Previous = replacedBy(old, done)
		replaced = old != nil
		return m.swap(users, old, done, completed), nil
	})
	if err != nil {
		return View{}, nil, err
	}
	what := "certificate uploaded"
	if replaced {
		what = "certificate replaced"
	}
	m.logged(what, name, by, append([]any{slog.String("subject", called(bundle.Leaf())), slog.String("expires", day(bundle.Leaf().NotAfter))}, renamed(done)...)...)
	m.tell(Change{What: strings.TrimPrefix(what, "certificate "), Name: name, By: by, NotAfter: bundle.Leaf().NotAfter})
	m.forget(name)
	return m.view(done), bundle.Warnings, nil
}

func (m *Manager) mayUpload(name string, old *entry, mode Mode) error {
	switch {
	case name == ApplianceName:
		return invalid("the certificate %s belongs to the appliance: choose another name", name)
	case old != nil && mode == Create:
		return fmt.Errorf("a certificate %q %w: replace it, or choose another name", name, ErrExists)
	case old == nil && mode == Replace:
		return fmt.Errorf("the certificate %q %w", name, ErrNotFound)
	case old == nil && m.count() >= MaxCertificates:
		return fmt.Errorf("%w certificates, %d are possible: delete one first", ErrFull, MaxCertificates)
	}
	return nil
}

func (b *Book) count() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.entries)
}

// knownKeys returns the entries whose key may belong to a new certificate: the replaced one
// and all CSRs.
func (m *Manager) knownKeys(old *entry) []*entry {
	var out []*entry
	if old != nil && old.broken == nil {
		out = append(out, old)
	}
	for _, e := range m.all() {
		if e.request != nil && e.broken == nil {
			out = append(out, e)
		}
	}
	return out
}

func publicKeys(of []*entry) []crypto.PublicKey {
	var out []crypto.PublicKey
	for _, e := range of {
		if e.request != nil {
			out = append(out, e.request.PublicKey)
		} else {
			out = append(out, e.chain[0].PublicKey)
		}
	}
	return out
}

// newEntry builds the entry of an upload with its key sealed. completed is the CSR that it
// completes, or nil.
func (m *Manager) newEntry(name string, b *Bundle, known []*entry, by apply.Author) (e, completed *entry, err error) {
	var plain []byte
	whose := name
	if b.Key != nil {
		plain, err = x509.MarshalPKCS8PrivateKey(b.Key)
	} else {
		from := known[b.Known]
		whose = from.rec.Name
		if plain, err = m.key(from); from.request != nil {
			completed = from
		}
	}
	if err != nil {
		return nil, nil, invalid("the key of %s is needed: %s", whose, err)
	}
	sealed, err := m.seal(name, plain)
	if err != nil {
		return nil, nil, err
	}
	rec := store.Certificate{Name: name, Chain: rawCertificates(b.Chain), Key: sealed, Added: m.now().UTC().Truncate(time.Second), Author: by.Name}
	return &entry{rec: rec, chain: b.Chain}, completed, nil
}

// seal encrypts a key. Its error is one that the operator can fix.
func (m *Manager) seal(name string, plain []byte) ([]byte, error) {
	sealed, err := m.node.seal(name, plain)
	if err != nil {
		return nil, &apply.Refused{Reason: "the private key cannot be kept: " + err.Error()}
	}
	return sealed, nil
}

// swap returns the renewal that replaces old (may be nil) by e and removes the completed
// CSR (may be nil).
func (m *Manager) swap(farms []uint32, old, e, completed *entry) apply.Renewal {
	var gone []string
	if completed != nil {
		gone = append(gone, completed.rec.Name)
	}
	return apply.Renewal{
		Farms: farms,
		Swap:  func() { m.set(e.rec.Name, e) },
		Undo:  func() { m.set(e.rec.Name, old) },
		Keep: func() error {
			if err := m.store.ChangeCertificates([]store.Certificate{e.rec}, gone...); err != nil {
				return err
			}
			for _, name := range gone {
				m.set(name, nil)
			}
			return nil
		},
	}
}

// Request creates a key and a CSR. Errors: *Error, ErrExists, ErrFull, errors of the store.
func (m *Manager) Request(ctx context.Context, by apply.Author, name string, fields RequestFields) (View, error) {
	name, err := RequestName(name)
	if err != nil {
		return View{}, err
	}
	der, key, err := newRequest(fields)
	if err != nil {
		return View{}, err
	}
	plain, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return View{}, err
	}
	var e *entry
	err = m.applier.Renew(ctx, func(*farm.Config) (apply.Renewal, error) {
		switch {
		case m.entry(name) != nil:
			return apply.Renewal{}, fmt.Errorf("a CSR %q %w: delete it, or choose another name", name, ErrExists)
		case m.count() >= MaxCertificates:
			return apply.Renewal{}, fmt.Errorf("%w certificates, %d are possible: delete one first", ErrFull, MaxCertificates)
		}
		sealed, err := m.seal(name, plain)
		if err != nil {
			return apply.Renewal{}, err
		}
		e = readEntry(store.Certificate{Name: name, Request: der, Key: sealed, Added: m.now().UTC().Truncate(time.Second), Author: by.Name})
		return m.swap(nil, nil, e, nil), nil
	})
	if err != nil {
		return View{}, err
	}
	m.logged("CSR created", name, by, slog.String("subject", nameOf(e.request.Subject)))
	return m.view(e), nil
}

// Delete deletes a certificate or a CSR with its key. Errors: ErrNotFound, ErrInUse, *Error for
// the appliance's own, errors of the store.
func (m *Manager) Delete(ctx context.Context, by apply.Author, name string) error {
	err := m.applier.Renew(ctx, func(cfg *farm.Config) (apply.Renewal, error) {
		old := m.entry(name)
		if old == nil {
			return apply.Renewal{}, fmt.Errorf("the certificate %q %w", show(name), ErrNotFound)
		}
		if old.plain != nil {
			return apply.Renewal{}, invalid("the certificate %s belongs to the appliance and cannot be deleted", name)
		}
		if err := m.unused(cfg, "certificate", name, CertificateUsers); err != nil {
			return apply.Renewal{}, err
		}
		return apply.Renewal{
			Swap: func() { m.set(name, nil) },
			Undo: func() { m.set(name, old) },
			Keep: func() error { return m.store.ChangeCertificates(nil, name) },
		}, nil
	})
	if err != nil {
		return err
	}
	m.logged("certificate deleted", name, by)
	m.tell(Change{What: "deleted", Name: name, By: by})
	m.forget(name)
	return nil
}

// unused returns ErrInUse if cfg uses an object, or if the configuration does to which a pending
// change returns: without the object its farms could not start again.
func (m *Manager) unused(cfg *farm.Config, kind, name string, users func(*farm.Config, string) []string) error {
	if by := users(cfg, name); len(by) > 0 {
		return fmt.Errorf("the %s %q %w: by %s", kind, name, ErrInUse, someOf(by))
	}
	back, err := m.applier.WayBack()
	if err != nil || back == nil {
		return err
	}
	if len(users(back, name)) > 0 {
		return fmt.Errorf("the %s %q %w: a pending change stops using it, and would need it again if it is not confirmed", kind, name, ErrInUse)
	}
	return nil
}

// Change describes a change of a certificate.
type Change struct {
	What     string // uploaded, replaced or deleted
	Name     string
	By       apply.Author
	NotAfter time.Time // zero if deleted
}

func (m *Manager) tell(c Change) {
	if m.Told != nil {
		m.Told(c)
	}
}

// someOf joins names, limited to a readable number.
func someOf(names []string) string {
	const most = 8
	names = slices.Compact(names)
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// logged writes the log line that serves as history of certificates.
func (m *Manager) logged(what, name string, by apply.Author, more ...any) {
	m.log.Info(what, append([]any{"name", name, "by", by.Name, "source", by.Source}, more...)...)
}

// forget makes Run re-examine a certificate soon.
func (m *Manager) forget(name string) {
	m.mu.Lock()
	delete(m.asked, name)
	delete(m.warned, name)
	m.mu.Unlock()
	select {
	case m.kick <- struct{}{}:
	default:
	}
}
