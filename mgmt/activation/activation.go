// Package activation stores the activation certificate that clients of the product family
// expect. It contains the host and the period of a licence. Sluice ignores its content and
// needs none.
package activation

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Store stores documents; *store.Store implements it.
type Store interface {
	ReadDocument(name string, into any) (found bool, err error)
	WriteDocument(name string, value any) error
}

// The errors.
var (
	// ErrNone: there is no certificate.
	ErrNone = errors.New("there is no activation certificate: nothing of this appliance needs one")
	// ErrInvalid begins the errors about an invalid certificate.
	ErrInvalid = errors.New("this is no activation certificate")
)

// MaxSize is the greatest size of an upload, in bytes.
const MaxSize = 64 << 10

// warnTime is the time before expiry from which a certificate is about to expire.
const warnTime = 15 * 24 * time.Hour

// Status is the validity of the certificate, in the words of the product family.
type Status string

// The statuses.
const (
	Valid         Status = "valid"
	AboutToExpire Status = "about to expire"
	Expired       Status = "expired"
	NotYet        Status = "not yet valid"
)

// Info holds the contents of the certificate.
type Info struct {
	Hostname            string
	Type                string // its organizational unit, or "unknown"
	Issuer              string
	Serial              string
	NotBefore, NotAfter time.Time
	DaysLeft            int // below 0 once expired
	Status              Status
	// Notice is a message for the operator, empty if there is none.
	Notice string
	PEM    []byte
}

// document is the stored document.
type document struct {
	PEM []byte `json:"pem,omitempty"`
}

const documentName = "activation"

// Keeper stores the certificate. Any goroutine may use it.
type Keeper struct {
	Store Store
	Now   func() time.Time // nil means time.Now

	mu sync.Mutex
}

// Get returns the certificate. Errors: ErrNone, errors of the store.
func (k *Keeper) Get() (Info, error) {
	var d document
	if _, err := k.Store.ReadDocument(documentName, &d); err != nil {
		return Info{}, err
	}
	if len(d.PEM) == 0 {
		return Info{}, ErrNone
	}
	return k.read(d.PEM)
}

// Put replaces the stored certificate. It calls act after the check; an error of act ends the
// change. Errors: ErrInvalid, errors of the store.
func (k *Keeper) Put(raw []byte, act func() error) (Info, error) {
	info, err := k.read(raw)
	if err == nil {
		err = act()
	}
	if err != nil {
		return Info{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return info, k.Store.WriteDocument(documentName, document{info.PEM})
}

// Delete removes the certificate. Errors: ErrNone, errors of the store.
func (k *Keeper) Delete(act func() error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, err := k.Get(); errors.Is(err, ErrNone) {
		return err
	}
	if err := act(); err != nil {
		return err
	}
	return k.Store.WriteDocument(documentName, document{})
}

func (k *Keeper) now() time.Time {
	if k.Now == nil {
		return time.Now()
	}
	return k.Now()
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// read reads a certificate in PEM, the first of a chain.
func (k *Keeper) read(raw []byte) (Info, error) {
	if len(raw) > MaxSize {
		return Info{}, invalid("it has more than %d bytes", MaxSize)
	}
	var leaf *x509.Certificate
	var kept bytes.Buffer
	for rest := raw; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return Info{}, invalid("it holds a %s: send the certificate alone", clean(block.Type))
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return Info{}, invalid("a certificate in it cannot be read: %s", clean(err.Error()))
		}
		if leaf == nil {
			leaf = c
		}
		_ = pem.Encode(&kept, &pem.Block{Type: block.Type, Bytes: block.Bytes}) // into memory, without headers
	}
	if leaf == nil {
		return Info{}, invalid("there is no certificate in PEM in it")
	}
	return k.info(leaf, kept.Bytes()), nil
}

func (k *Keeper) info(c *x509.Certificate, raw []byte) Info {
	left := c.NotAfter.Sub(k.now())
	info := Info{
		Hostname: clean(c.Subject.CommonName), Type: cmp.Or(clean(strings.Join(c.Subject.OrganizationalUnit, ", ")), "unknown"), Issuer: clean(c.Issuer.String()), Serial: c.SerialNumber.Text(16),
		NotBefore: c.NotBefore, NotAfter: c.NotAfter, DaysLeft: int(left / (24 * time.Hour)), Status: Valid, PEM: raw,
	}
	day := c.NotAfter.UTC().Format(time.DateOnly)
	switch {
	case left <= 0:
		info.Status, info.Notice = Expired, "The activation certificate expired on "+day+". Nothing of this appliance depends on it."
		info.DaysLeft = min(info.DaysLeft, -1)
	case k.now().Before(c.NotBefore):
		info.Status, info.Notice = NotYet, "The activation certificate is not valid before "+c.NotBefore.UTC().Format(time.DateOnly)+"."
	case left <= warnTime:
		info.Status, info.Notice = AboutToExpire, "The activation certificate expires on "+day+"."
	}
	return info
}

// clean converts a text in a certificate to one short line.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if len(text) > 256 {
		text = strings.ToValidUTF8(text[:256], "") + "…"
	}
	return text
}
