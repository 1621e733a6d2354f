package rbac

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"strings"

	"github.com/alexedwards/argon2id"
)

// Limits for passwords (api-reference §12, /system/users).
const minPassword, maxPassword = 8, 512

// Cost is the cost of a guess at a password: Memory in KiB and number of passes of argon2id.
type Cost struct{ Memory, Passes uint32 }

// advised is the cost that OWASP recommends for limited memory: 19 MiB, which takes some 30
// ms.
var advised = Cost{Memory: 19 << 10, Passes: 2}

func (c Cost) params() *argon2id.Params {
	return &argon2id.Params{Memory: c.Memory, Iterations: c.Passes, Parallelism: 1, SaltLength: 16, KeyLength: 32}
}

// decoy returns a hash at the same cost that matches no password.
func (c Cost) decoy() string {
	return fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", c.Memory, c.Passes)
}

// CheckPassword returns why a new password is invalid, or nil. The parameter field is its
// field in the request.
func CheckPassword(field, password string) error {
	switch {
	case len(password) < minPassword || len(password) > maxPassword:
		return invalid("%s: %d to %d characters are needed", field, minPassword, maxPassword)
	case !strings.ContainsFunc(password, letter) || !strings.ContainsAny(password, "0123456789"):
		return invalid("%s: at least one letter and one digit are needed", field)
	case strings.ContainsFunc(password, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return invalid("%s: control characters are not allowed", field)
	}
	return nil
}

func letter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r > 0x7f }

func (b *Book) hash(field, password string) (string, error) {
	if err := CheckPassword(field, password); err != nil {
		return "", err
	}
	if err := b.hashes.enter(context.Background(), netip.Prefix{}); err != nil {
		return "", err
	}
	defer b.hashes.leave()
	return argon2id.CreateHash(password, b.Cost.params())
}

// Errors of a login. The response to the client is the same for all of them.
var (
	// ErrWrong: the user does not exist, or the password is wrong.
	ErrWrong = errors.New("wrong user or password")
	// ErrNotAllowed: the user may not log in with a password.
	ErrNotAllowed = errors.New("the user lacks the permission webgui")
)

// Verify checks the password of a user who may log in. It takes as long for an unknown user.
// At most one password for four processors is hashed at a time, and few are checked by the system
// or the directory. The others wait and take turns by source, the network of the client. Errors:
// ErrWrong, ErrNotAllowed, errors of ctx and of the service that checks the password.
func (b *Book) Verify(ctx context.Context, source netip.Prefix, name, password string) (UserView, error) {
	s := b.state.Load()
	u := s.user(name)
	if len(password) > maxPassword {
		return UserView{}, ErrWrong
	}
	right, err := b.matches(ctx, source, u, name, password)
	switch {
	case err != nil:
		return UserView{}, err
	case !right:
		return UserView{}, ErrWrong
	case !u.WebGUI:
		return UserView{}, ErrNotAllowed
	}
	return s.view(u), nil
}

func (b *Book) matches(ctx context.Context, source netip.Prefix, u *User, name, password string) (bool, error) {
	if u != nil && !b.state.Load().serves(u) {
		u = nil
	}
	switch {
	case u != nil && u.Name == Root:
		if err := b.asking.enter(ctx, source); err != nil {
			return false, err
		}
		defer b.asking.leave()
		return b.ask(ctx, b.System, name, password)
	case u != nil && u.Service == LDAP:
		if err := b.binds.enter(ctx, source); err != nil {
			return false, err
		}
		defer b.binds.leave()
		return b.ask(ctx, b.Directory, name, password)
	}
	hash := b.Cost.decoy()
	if u != nil && u.Password != "" {
		hash = u.Password
	}
	if err := b.hashes.enter(ctx, source); err != nil {
		return false, err
	}
	defer b.hashes.leave()
	match, err := argon2id.ComparePasswordAndHash(password, hash)
	return match && u != nil && u.Password != "", err
}

// Checker checks a password with a service.
type Checker func(ctx context.Context, user, password string) (bool, error)

func (b *Book) ask(ctx context.Context, checker Checker, user, password string) (bool, error) {
	if checker == nil || password == "" { // directories accept an empty password as an anonymous bind
		return false, nil
	}
	return checker(ctx, user, password)
}

// Changer changes a user's password in a service. right is false if old is not the current
// password.
type Changer func(ctx context.Context, old, new string) (right bool, err error)

// ChangeRootPassword changes the password of root in the system, which is also the password
// for the console, and further properties of root. Rejected properties leave the password
// unchanged, and the reverse. Other changes need not wait for the system. Sessions of root end.
// Errors: those of ChangeUser, ErrWrong if old is not the current password, errors of the system,
// and *PartlyError.
func (b *Book) ChangeRootPassword(ctx context.Context, old, new string, to UserChange) error {
	if err := CheckPassword("newpassword", new); err != nil {
		return err
	}
	if b.ChangeSystem == nil {
		return invalid("newpassword: the password of root is the system's, which cannot be changed here: use passwd")
	}
	if to.Password != nil {
		return invalid("newpassword: the password of root is the system's")
	}
	edit := func(s *state) error { return s.changeUser(Root, "", to) }
	tried := func() error { _, err := b.edited(edit); return err }
	if err := b.turn.run(tried); err != nil {
		return err
	}
	right, err := b.ChangeSystem(ctx, old, new)
	switch {
	case err != nil:
		return err
	case !right:
		return ErrWrong
	}
	if err := b.finish.run(func() error { return b.complete(edit) }); err != nil {
		return &PartlyError{err}
	}
	return nil
}

// complete makes a change of root whose password the system has replaced. If the change fails, it
// still ends the sessions of root.
func (b *Book) complete(edit func(*state) error) error {
	err := b.store(edit)
	if err == nil {
		return nil
	}
	b.write.Lock()
	defer b.write.Unlock()
	next := b.state.Load().clone()
	next.Root.Epoch++
	b.state.Store(next) // if it is not stored, the sessions end nevertheless: they do not survive a restart
	return errors.Join(err, b.keeper.WriteDocument(document, next))
}

// maxAsking bounds the concurrent checks by the system. It is below the limit of the
// supervisor, which refuses further ones.
const maxAsking = 6

// maxBinds bounds the concurrent checks by the directory. Each check is a connection.
const maxBinds = 16

// workers returns the number of concurrent hashes: unknown clients cause this work, and
// traffic needs the processors.
func workers() int { return max(1, runtime.GOMAXPROCS(0)/4) }
