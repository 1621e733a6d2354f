package auth

import (
	"context"
	"errors"
	"net/http"
	"net/netip"

	"github.com/sluicelb/sluice/mgmt/rbac"
)

// guess counts a guess for a user, and calls check if it is within the limits. If the client
// leaves during the check, the guess counts as wrong: a slow response reveals a wrong guess,
// so a client could leave early to avoid the count. Errors: *LockedError, errors of check.
func (g *Guard) guess(r *http.Request, user string, check func(context.Context) error) error {
	source, _ := remote(r)
	queue, cancel := context.WithTimeout(r.Context(), logInTime)
	defer cancel()
	a, err := g.ledger.begin(queue, &g.ledger.passwords, user, source)
	if err != nil {
		return err
	}
	result := wrong // if check panics, too
	defer func() { a.end(result) }()
	ctx, cancel := context.WithTimeout(r.Context(), logInTime)
	defer cancel()
	err = check(ctx)
	switch {
	case err == nil:
		result = right
	case errors.Is(err, rbac.ErrNotAllowed): // the password is correct
		result = unchecked
	case errors.Is(err, rbac.ErrWrong), errors.Is(err, rbac.ErrCode), r.Context().Err() != nil:
	default:
		result = unchecked
	}
	return err
}

// Right reports whether a password of a user is correct, for an operation that needs it. It
// has the limits of logins. Errors: *LockedError, errors of the service that checks the
// password.
func (g *Guard) Right(r *http.Request, user, password string) (bool, error) {
	err := g.guess(r, user, func(ctx context.Context) error {
		if _, err := g.book.Verify(ctx, network(r), user, password); err != rbac.ErrNotAllowed {
			return err
		}
		return nil
	})
	if errors.Is(err, rbac.ErrWrong) {
		return false, nil
	}
	return err == nil, err
}

// Code reports whether a code of the user's second factor is valid, and marks it as used.
// It has the limits of logins. Errors: *LockedError, and the reason why it could not be
// checked.
func (g *Guard) Code(r *http.Request, user, code string) (bool, error) {
	err := g.Try(r, user, func() error { return g.book.TakeCode(user, code, g.now()) })
	if errors.Is(err, rbac.ErrCode) {
		return false, nil
	}
	return err == nil, err
}

// Try checks a code of the user within the limits of logins. Errors: *LockedError, errors of
// check; rbac.ErrCode counts.
func (g *Guard) Try(r *http.Request, user string, check func() error) error {
	return g.guess(r, user, func(context.Context) error { return check() })
}

// ChooseKey runs a change in which user sets a key of a user. The change fails with
// rbac.ErrTaken if another user has that key, so users who may choose keys can guess them.
// Therefore each choice counts as a guess, except a successful one of root: root sees and
// changes everything anyway, and the choices of others do not delay root. Errors:
// *LockedError, errors of change.
func (g *Guard) ChooseKey(r *http.Request, user string, change func() error) error {
	source, _ := remote(r)
	if user == rbac.Root {
		source = netip.Addr{}
	}
	a, err := g.ledger.begin(r.Context(), &g.ledger.choices, user, source)
	if err != nil {
		return err
	}
	result := wrong
	defer func() { a.end(result) }()
	err = change()
	if user == rbac.Root && !errors.Is(err, rbac.ErrTaken) {
		result = unchecked
	}
	return err
}
