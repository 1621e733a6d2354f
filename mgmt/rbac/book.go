package rbac

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"sync"
	"sync/atomic"
)

// Keeper stores a value under a name; *store.Store is one. A write is on disk when
// WriteDocument returns.
type Keeper interface {
	ReadDocument(name string, into any) (found bool, err error)
	WriteDocument(name string, value any) error
}

// document is the name under which a Book is stored.
const document = "rbac"

// Book holds the users and their rights; make it with NewBook. It may be used from any
// goroutine.
type Book struct {
	// System checks the password of root, Directory the passwords of users of the service
	// ldap; nil: these passwords cannot be checked. Set them before use.
	System, Directory Checker
	// ChangeSystem changes root's password in the system; nil: it cannot be changed.
	ChangeSystem Changer
	// Secrets encrypts the secrets of second factors; without it there are none.
	Secrets Sealer
	// Cost is the cost of a password's hash, as recommended by OWASP. Set it before use.
	Cost Cost

	keeper Keeper
	write  *sync.Mutex
	state  *atomic.Pointer[state]
	// hashes limits the concurrent hashes of passwords, asking the concurrent checks of
	// root's password by the system.
	hashes, asking *queue
	// binds limits the concurrent checks by the directory.
	binds *queue
	// caller is the user who requests changes; nil: the rights are not checked.
	caller *Caller
	// turn runs changes; nil runs them at once. finish runs changes that must not be refused any more.
	turn, finish Turn
}

// NewBook reads the stored book, or starts an empty one.
func NewBook(keeper Keeper) (*Book, error) {
	b := &Book{Cost: advised, keeper: keeper, write: new(sync.Mutex), state: new(atomic.Pointer[state]),
		hashes: newQueue(workers()), asking: newQueue(maxAsking), binds: newQueue(maxBinds)}
	s := fresh()
	if _, err := keeper.ReadDocument(document, s); err != nil {
		return nil, fmt.Errorf("read users, groups and roles: %w", err)
	}
	b.state.Store(s)
	return b, nil
}

// Turn runs a change while no other one is made. It may refuse the change.
type Turn func(change func() error) error

// In returns the book with changes that run within turn. Passwords are hashed and verified outside
// of it.
func (b *Book) In(turn Turn) *Book {
	c := *b
	c.turn = turn
	return &c
}

// Finishing returns the book with changes that run within finish if they complete one that the system
// has already made (ChangeRootPassword).
func (b *Book) Finishing(finish Turn) *Book {
	c := *b
	c.finish = finish
	return &c
}

// change replaces the state with an edited copy after that has been stored. If edit returns
// an error, nothing changes.
func (b *Book) change(edit func(*state) error) error {
	return b.turn.run(func() error { return b.store(edit) })
}

func (t Turn) run(change func() error) error {
	if t == nil {
		return change()
	}
	return t(change)
}

func (b *Book) store(edit func(*state) error) error {
	return b.keep(func(s *state) error {
		s.Revision++
		return edit(s)
	})
}

// keep is store with the same revision.
func (b *Book) keep(edit func(*state) error) error {
	b.write.Lock()
	defer b.write.Unlock()
	next, err := b.edited(edit)
	if err != nil {
		return err
	}
	if err := b.keeper.WriteDocument(document, next); err != nil {
		return fmt.Errorf("keep users, groups and roles: %w", err)
	}
	b.state.Store(next)
	return nil
}

// edited returns an edited copy of the state, if the caller may make that change.
func (b *Book) edited(edit func(*state) error) (*state, error) {
	now := b.state.Load()
	next := now.clone()
	if err := edit(next); err != nil {
		return nil, err
	}
	if b.caller != nil {
		if err := b.caller.covers(now, next); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// Revision grows with every change and across restarts. The use of a code is no change: otherwise each
// login with a code, also that of the request itself, would invalidate the revision that a client expects.
func (b *Book) Revision() uint64 { return b.state.Load().Revision }

// DryRun returns a copy of this book in which every possible change fails with the error
// end and is not made.
func (b *Book) DryRun(end error) *Book {
	r := &Book{System: b.System, Directory: b.Directory, Secrets: b.Secrets, Cost: b.Cost,
		keeper: nowhere{end}, write: new(sync.Mutex), state: new(atomic.Pointer[state]),
		hashes: b.hashes, asking: b.asking, binds: b.binds, caller: b.caller}
	r.ChangeSystem = func(context.Context, string, string) (bool, error) { return true, end }
	r.state.Store(b.state.Load())
	return r
}

// nowhere is a Keeper whose writes fail with why.
type nowhere struct{ why error }

func (n nowhere) ReadDocument(string, any) (bool, error) { return false, nil }
func (n nowhere) WriteDocument(string, any) error        { return n.why }

// owner returns the user whose key has this hash. It always compares all keys, so the time
// does not depend on the user.
func (s *state) owner(hash []byte) *User {
	var found *User
	look := func(u *User) {
		if subtle.ConstantTimeCompare(u.Key, hash) == 1 {
			found = u
		}
	}
	look(&s.Root)
	for i := range s.Users {
		look(&s.Users[i])
	}
	return found
}

// FindKey returns the user with this key, if the user may use it.
func (b *Book) FindKey(secret string) (user string, ok bool) {
	hash := sha256.Sum256([]byte(secret))
	if u := b.state.Load().owner(hash[:]); u != nil && u.API {
		return u.Name, true
	}
	return "", false
}
