package certs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/store"
)

// UploadAuthority stores an authority list in PEM or DER, with optional CRLs, under a name.
// If a replacement contains no CRLs, the previous CRLs of authorities that remain are kept.
// For running farms the list is in force on return. Errors as Upload.
func (m *Manager) UploadAuthority(ctx context.Context, by apply.Author, name string, raw []byte, mode Mode) (AuthorityView, []string, error) {
	name, err := AuthorityName(name)
	if err != nil {
		return AuthorityView{}, nil, err
	}
	if raw, err = Unpack(raw, ""); err != nil {
		return AuthorityView{}, nil, err
	}
	certs, lists, warnings, err := parseAuthorities(raw, m.now())
	if err != nil {
		return AuthorityView{}, nil, err
	}
	a, err := m.changeAuthority(ctx, name, mode, by, func(old *authority) (*authority, error) {
		if old != nil && old.broken == nil && len(lists) == 0 {
			for _, l := range old.lists {
				if signer(l, certs) == nil {
					warnings = append(warnings, "the CRL of "+nameOf(l.Issuer)+" went with its authority")
					continue
				}
				lists = append(lists, l)
			}
		}
		return &authority{certs: certs, lists: lists}, nil
	})
	if err != nil {
		return AuthorityView{}, nil, err
	}
	m.logged("authorities uploaded", name, by, slog.Int("certificates", len(certs)), slog.Int("crls", len(lists)))
	return m.authorityView(a), warnings, nil
}

// ReplaceCRLs replaces the CRLs of an authority list with the uploaded ones (PEM, or a single
// CRL in DER); nil removes them. It returns the errors of Upload.
func (m *Manager) ReplaceCRLs(ctx context.Context, by apply.Author, name string, raw []byte) (AuthorityView, error) {
	a, err := m.changeAuthority(ctx, name, Replace, by, func(old *authority) (*authority, error) {
		if old.broken != nil {
			return nil, invalid("the authority list %s cannot be read: upload it again", name)
		}
		next := &authority{certs: old.certs}
		if raw == nil {
			return next, nil
		}
		var err error
		next.lists, err = parseCRLs(raw, old.certs, m.now())
		return next, err
	})
	if err != nil {
		return AuthorityView{}, err
	}
	m.logged("CRLs replaced", name, by, slog.Int("crls", len(a.lists)))
	return m.authorityView(a), nil
}

// changeAuthority replaces an authority list by the result of edit.
func (m *Manager) changeAuthority(ctx context.Context, name string, mode Mode, by apply.Author, edit func(old *authority) (*authority, error)) (*authority, error) {
	var next *authority
	err := m.applier.Renew(ctx, func(cfg *farm.Config) (apply.Renewal, error) {
		old := m.authority(name)
		switch {
		case old != nil && mode == Create:
			return apply.Renewal{}, fmt.Errorf("an authority list %q %w: replace it, or choose another name", name, ErrExists)
		case old == nil && mode == Replace:
			return apply.Renewal{}, fmt.Errorf("the authority list %q %w", show(name), ErrNotFound)
		case old == nil && len(m.allAuthorities()) >= MaxAuthorities:
			return apply.Renewal{}, fmt.Errorf("%w authority lists, %d are possible: delete one first", ErrFull, MaxAuthorities)
		}
		var err error
		if next, err = edit(old); err != nil {
			return apply.Renewal{}, err
		}
		next.rec = store.Authority{Name: name, Certificates: rawCertificates(next.certs), Revoked: rawLists(next.lists),
			Added: m.now().UTC().Truncate(time.Second), Author: by.Name}
		if _, err := tlsconf.CheckAuthority(&farm.Authority{Name: name, Certificates: next.rec.Certificates, Revoked: next.rec.Revoked}); err != nil {
			return apply.Renewal{}, invalid("no farm could use the authority list: %s", clean(err.Error()))
		}
		return apply.Renewal{
			Farms: running(cfg, name, true),
			Swap:  func() { m.setAuthority(name, next) },
			Undo:  func() { m.setAuthority(name, old) },
			Keep:  func() error { return m.store.PutAuthority(next.rec) },
		}, nil
	})
	return next, err
}

// DeleteAuthority deletes an authority list. Errors: ErrNotFound, ErrInUse, errors of the
// store.
func (m *Manager) DeleteAuthority(ctx context.Context, by apply.Author, name string) error {
	err := m.applier.Renew(ctx, func(cfg *farm.Config) (apply.Renewal, error) {
		old := m.authority(name)
		if old == nil {
			return apply.Renewal{}, fmt.Errorf("the authority list %q %w", show(name), ErrNotFound)
		}
		if err := m.unused(cfg, "authority list", name, AuthorityUsers); err != nil {
			return apply.Renewal{}, err
		}
		return apply.Renewal{
			Swap: func() { m.setAuthority(name, nil) },
			Undo: func() { m.setAuthority(name, old) },
			Keep: func() error { return m.store.DeleteAuthority(name) },
		}, nil
	})
	if err != nil {
		return err
	}
	m.logged("authorities deleted", name, by)
	return nil
}
