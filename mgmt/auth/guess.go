package auth

import (
	"context"
	"errors"
	"net/http"
	"net/netip"

	"github.com/sluicelb/sluice/mgmt/rbac"
)

// guess counts a guess about a user, and has it checked if it is within the limits. An
// error of check that the client caused by leaving counts like a wrong guess: it leaves
// when no answer means "wrong". Errors: *LockedError, and those of check.
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
	case errors.Is(err, rbac.ErrNotAllowed): // the password is right
		result = unchecked
	case errors.Is(err, rbac.ErrWrong), errors.Is(err, rbac.ErrCode), r.Context().Err() != nil:
	default:
		result = unchecked
	}
	return err
}

// Right reports whether a password is that of a user who asks for something it is
// needed for. It has the limits of logins. Errors: *LockedError, and what the service
// says that knows the password.
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

// Code reports whether a code is that of the user's second factor, and takes it. It has
// the limits of logins. Errors: *LockedError, and why it could not be checked.
func (g *Guard) Code(r *http.Request, user, code string) (bool, error) {
	err := g.Try(r, user, func() error { return g.book.TakeCode(user, code, g.now()) })
	if errors.Is(err, rbac.ErrCode) {
		return false, nil
	}
	return err == nil, err
}

// Try has a code of the user checked within the limits of logins. Errors: *LockedError,
// and those of check; rbac.ErrCode counts.
func (g *Guard) Try(r *http.Request, user string, check func() error) error {
	return g.guess(r, user, func(context.Context) error { return check() })
}

// ChooseKey runs a change by which user gives somebody a key. The change fails with
// rbac.ErrTaken if somebody has that key already, so whoever may choose keys can guess
// them. Therefore each choice counts as a guess, except that of root which succeeds: root
// sees and changes everything anyway, and the choices of others do not hold it up.
// Errors: *LockedError, and those of change.
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
