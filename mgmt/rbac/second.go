package rbac

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sluicelb/sluice/mgmt/totp"
)

// Sealer encrypts secrets for a purpose; *certs.Book implements it.
type Sealer interface {
	SealSecret(purpose string, plain []byte) ([]byte, error)
	OpenSecret(purpose string, sealed []byte) ([]byte, error)
}

// Second is the second factor of a user. Once it is confirmed, each login requires it.
type Second struct {
	Secret    []byte `json:"secret"` // sealed
	Confirmed bool   `json:"confirmed,omitempty"`
	// Last is the step of the last accepted code (mgmt/totp).
	Last     int64    `json:"last,omitempty"`
	Recovery [][]byte `json:"recovery,omitempty"` // SHA-256 of the remaining codes
}

// SecondState is the visible state of a second factor.
type SecondState string

// The states.
const (
	SecondOff     SecondState = "off"
	SecondPending SecondState = "pending" // enrolled, but not confirmed: logins do not require it
	SecondOn      SecondState = "on"
)

// Second returns the state of the second factor, and how many recovery codes are left.
func (u *User) Second() (state SecondState, recovery int) {
	switch {
	case u.Factor == nil:
		return SecondOff, 0
	case !u.Factor.Confirmed:
		return SecondPending, 0
	}
	return SecondOn, len(u.Factor.Recovery)
}

// ErrCode: the code of the second factor is missing, wrong, or was already used.
var ErrCode = errors.New("the code of the second factor is missing or wrong")

// Enrol makes a new secret for the user. Logins do not require it before it is confirmed. The
// secret cannot be retrieved later.
func (b *Book) Enrol(user string) (totp.Key, error) {
	host, _ := os.Hostname() // without a host name only the user is shown
	key, err := totp.NewKey(user, host)
	if err != nil {
		return totp.Key{}, err
	}
	err = b.change(func(s *state) error {
		u := s.user(user)
		switch {
		case u == nil:
			return noUser(user)
		case u.Service == OIDC:
			return invalid("the second factor of users of the service oidc is the provider's")
		case u.Factor != nil && u.Factor.Confirmed:
			return invalid("there is a second factor already: disable it first")
		case b.Secrets == nil:
			return invalid("there is nothing to encrypt a secret with")
		}
		sealed, err := b.Secrets.SealSecret(purpose(user), []byte(key.Secret))
		if err != nil {
			return fmt.Errorf("keep the second factor of %s: %w", user, err)
		}
		u.Factor = &Second{Secret: sealed}
		return nil
	})
	if err != nil {
		return totp.Key{}, err
	}
	return key, nil
}

// purpose returns the purpose of sealing a secret, which differs for each user.
func purpose(user string) string { return "the second factor of " + user + " (totp)" }

// Confirm activates the second factor if a code shows that the user has the secret. It
// returns the recovery codes, which cannot be retrieved later. Sessions of the user end.
func (b *Book) Confirm(user, code string, now time.Time) (recovery []string, err error) {
	err = b.changeSecond(user, func(u *User) error {
		if u.Factor == nil || u.Factor.Confirmed {
			return invalid("there is no second factor to confirm: enrol first")
		}
		if err := b.takeCode(u, code, now); err != nil {
			return err
		}
		recovery, u.Factor.Recovery = totp.NewRecovery()
		u.Factor.Confirmed = true
		u.Epoch++
		return nil
	})
	return shown(recovery, err)
}

// RenewRecovery replaces the recovery codes of a user. The caller must have checked a code.
func (b *Book) RenewRecovery(user string) (recovery []string, err error) {
	err = b.changeSecond(user, func(u *User) error {
		if state, _ := u.Second(); state != SecondOn {
			return invalid("there is no second factor")
		}
		recovery, u.Factor.Recovery = totp.NewRecovery()
		return nil
	})
	return shown(recovery, err)
}

// shown returns the codes only if they were stored.
func shown(codes []string, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	return codes, nil
}

// Disable removes the second factor of a user. Sessions of the user end.
func (b *Book) Disable(user string) error {
	return b.changeSecond(user, func(u *User) error {
		if u.Factor == nil {
			return invalid("there is no second factor")
		}
		if u.Factor.Confirmed {
			u.Epoch++
		}
		u.Factor = nil
		return nil
	})
}

// TakeCode checks the code of a login, or a recovery code, and marks it as used, so that it
// is valid once. The revision stays. Users without a second factor need no code. It returns ErrCode for a wrong
// code, or another error if the code could not be checked or stored.
func (b *Book) TakeCode(user, code string, now time.Time) error {
	u := b.state.Load().user(user)
	if u == nil {
		return ErrCode
	}
	if state, _ := u.Second(); state != SecondOn {
		return nil
	}
	return b.keep(secondOf(user, func(u *User) error {
		if state, _ := u.Second(); state != SecondOn { // disabled meanwhile
			return ErrCode
		}
		return b.takeCode(u, code, now)
	}))
}

// takeCode marks a code as used.
func (b *Book) takeCode(u *User, code string, now time.Time) error {
	f := u.Factor
	if at := totp.FindRecovery(f.Recovery, code); at >= 0 {
		f.Recovery = append(f.Recovery[:at:at], f.Recovery[at+1:]...)
		return nil
	}
	if b.Secrets == nil {
		return errors.New("there is nothing to decrypt a secret with")
	}
	secret, err := b.Secrets.OpenSecret(purpose(u.Name), f.Secret)
	if err != nil {
		return fmt.Errorf("read the second factor of %s: %w", u.Name, err)
	}
	defer clear(secret)
	step, right := totp.Step(string(secret), code, now, f.Last)
	if !right {
		return ErrCode
	}
	f.Last = step
	return nil
}

// changeSecond changes a copy of a user's second factor.
func (b *Book) changeSecond(user string, edit func(*User) error) error {
	return b.change(secondOf(user, edit))
}

// secondOf returns the edit of a state that edits a copy of a user's second factor.
func secondOf(user string, edit func(*User) error) func(*state) error {
	return func(s *state) error {
		u := s.user(user)
		if u == nil {
			return noUser(user)
		}
		if u.Factor != nil {
			f := *u.Factor
			u.Factor = &f
		}
		return edit(u)
	}
}
