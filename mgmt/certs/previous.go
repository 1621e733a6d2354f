package certs

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/coverage"
	"github.com/sluicelb/sluice/mgmt/store"
)

// A replaced certificate is kept with its sealed key until the next replacement, so that a
// mistake can be undone.

// replacedBy returns the record that e keeps of old; nil if old cannot be restored.
func replacedBy(old, e *entry) *store.Certificate {
	if old == nil || old.broken != nil || old.chain == nil || old.plain != nil {
		return nil
	}
	if old.chain[0].Equal(e.chain[0]) {
		return old.rec.Previous // uploaded again, e.g. with its intermediates
	}
	rec := old.rec
	rec.Previous, rec.Staple = nil, nil
	return &rec
}

// Seen holds the fingerprints of a certificate and of its predecessor, as the caller knows
// them, with colons or without. Empty ones match any.
type Seen struct{ Current, Previous string }

// Check returns ErrReplaced if the caller saw another certificate, or another predecessor.
func (s Seen) Check(v View) error {
	previous := ""
	if v.Previous != nil {
		previous = v.Previous.Fingerprint
	}
	for _, pair := range [][2]string{{s.Current, v.Fingerprint}, {s.Previous, previous}} {
		if pair[0] != "" && !strings.EqualFold(strings.ReplaceAll(pair[0], ":", ""), strings.ReplaceAll(pair[1], ":", "")) {
			return fmt.Errorf("the certificate %s %w", v.Name, ErrReplaced)
		}
	}
	return nil
}

// isStill returns ErrReplaced unless a certificate has the fingerprint that the caller knows.
// An empty one matches any.
func (m *Manager) isStill(e *entry, name, fingerprint string) error {
	now := View{Name: name}
	if e != nil {
		now = m.view(e)
	}
	return Seen{Current: fingerprint}.Check(now)
}

// Restore reactivates the certificate that was replaced last, if both are those seen by the
// caller; the current one is kept in its place. It is in force on return. Errors:
// ErrNotFound, ErrReplaced, *Error, errors of Upload.
func (m *Manager) Restore(ctx context.Context, by apply.Author, name string, seen Seen) (View, error) {
	var done *entry
	err := m.applier.Renew(ctx, func(cfg *farm.Config) (apply.Renewal, error) {
		old := m.entry(name)
		switch {
		case old == nil:
			return apply.Renewal{}, fmt.Errorf("the certificate %q %w", show(name), ErrNotFound)
		case old.rec.Previous == nil:
			return apply.Renewal{}, invalid("nothing is kept that the certificate %s replaced", name)
		}
		if err := seen.Check(m.view(old)); err != nil {
			return apply.Renewal{}, err
		}
		rec := *old.rec.Previous
		rec.Added, rec.Author = m.now().UTC().Truncate(time.Second), by.Name
		if done = readEntry(rec); done.broken != nil {
			return apply.Renewal{}, invalid("the certificate that %s replaced cannot be read: %s", name, done.broken)
		}
		if _, err := m.key(done); err != nil {
			return apply.Renewal{}, invalid("the certificate that %s replaced cannot be used: %s", name, err)
		}
		done.rec.Previous = replacedBy(old, done)
		return m.swap(running(cfg, name, false), old, done, nil), nil
	})
	if err != nil {
		return View{}, err
	}
	leaf := done.chain[0]
	m.logged("certificate put back", name, by, append([]any{slog.String("subject", called(leaf)), slog.String("expires", day(leaf.NotAfter))}, renamed(done)...)...)
	m.tell(Change{What: "put back", Name: name, By: by, NotAfter: leaf.NotAfter})
	m.forget(name)
	return m.view(done), nil
}

// NamesOf returns the host names and addresses for which clients accept a certificate; none
// for a CSR or a missing certificate.
func (b *Book) NamesOf(name string) []string { return namesOf(b.entry(name)) }

// PreviousNames returns the names of the certificate that Restore would reactivate.
func (b *Book) PreviousNames(name string) []string {
	e := b.entry(name)
	if e == nil || e.rec.Previous == nil {
		return nil
	}
	return namesOf(readEntry(*e.rec.Previous))
}

// UploadNames returns the names of a certificate before its upload; none if Upload would
// reject it.
func (m *Manager) UploadNames(name string, raw []byte) []string {
	raw, err := Unpack(raw, "")
	if err != nil {
		return nil
	}
	b, err := Parse(raw, m.now(), publicKeys(m.knownKeys(m.entry(name)))...)
	if err != nil {
		return nil
	}
	return namesOf(&entry{chain: b.Chain})
}

func namesOf(e *entry) []string {
	if e == nil || e.broken != nil || len(e.chain) == 0 {
		return nil
	}
	if names := hostNames(e.chain[0]); len(names) > 0 {
		return names
	}
	return []string{called(e.chain[0])}
}

// renamed describes for the log which names were lost and gained compared with the previous
// certificate.
func renamed(e *entry) []any {
	if e.rec.Previous == nil {
		return nil
	}
	was := readEntry(*e.rec.Previous)
	before, after := namesOf(was), namesOf(e)
	var out []any
	if lost := coverage.New(after...).Without(before); len(lost) > 0 {
		out = append(out, slog.String("lost", strings.Join(lost, " ")))
	}
	if gained := coverage.New(before...).Without(after); len(gained) > 0 {
		out = append(out, slog.String("new", strings.Join(gained, " ")))
	}
	return out
}

func (e *entry) previousView() *PreviousView {
	if e.rec.Previous == nil {
		return nil
	}
	was := readEntry(*e.rec.Previous)
	if was.broken != nil {
		return nil
	}
	sum := sha256.Sum256(was.chain[0].Raw)
	return &PreviousView{Names: namesOf(was), NotAfter: was.chain[0].NotAfter.UTC(), Fingerprint: colons(sum[:]), Added: was.rec.Added, Author: was.rec.Author}
}
