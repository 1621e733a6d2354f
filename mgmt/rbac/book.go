package rbac

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"sync"
	"sync/atomic"
)

// Keeper keeps a value under a name; *store.Store is one. A write is on disk when
// WriteDocument returns.
type Keeper interface {
	ReadDocument(name string, into any) (found bool, err error)
	WriteDocument(name string, value any) error
}

// document is the name a Book is kept under.
const document = "rbac"

// Book is who may do what; make it with NewBook. It may be used from any goroutine.
type Book struct {
	// System knows the password of root, Directory those of users of the service
	// ldap; nil for nobody does. Set them before use.
	System, Directory Checker
	// ChangeSystem gives root another password of the system; nil for nobody does.
	ChangeSystem Changer
	// Secrets encrypts the secrets of second factors; without it there are none.
	Secrets Sealer
	// Cost is that of a password's hash, as OWASP advises it. Set it before use.
	Cost Cost

	keeper Keeper
	write  *sync.Mutex
	state  *atomic.Pointer[state]
	// hashes are the passwords that are hashed, asking those of root that the system is
	// asked about.
	hashes, asking *queue
	// caller is who asks for changes, nil for nobody who needs rights of their own.
	caller *Caller
}

// NewBook reads the book that the keeper has, or begins one.
func NewBook(keeper Keeper) (*Book, error) {
	b := &Book{Cost: advised, keeper: keeper, write: new(sync.Mutex), state: new(atomic.Pointer[state]), hashes: newQueue(workers()), asking: newQueue(maxAsking)}
	s := fresh()
	if _, err := keeper.ReadDocument(document, s); err != nil {
		return nil, fmt.Errorf("read users, groups and roles: %w", err)
	}
	b.state.Store(s)
	return b, nil
}

// change replaces the state by an edited copy, once that is kept. What edit refuses
// changes nothing.
func (b *Book) change(edit func(*state) error) error {
	b.write.Lock()
	defer b.write.Unlock()
	now := b.state.Load()
	next := now.clone()
	if err := edit(next); err != nil {
		return err
	}
	if b.caller != nil {
		if err := b.caller.covers(now, next); err != nil {
			return err
		}
	}
	next.Revision++
	if err := b.keeper.WriteDocument(document, next); err != nil {
		return fmt.Errorf("keep users, groups and roles: %w", err)
	}
	b.state.Store(next)
	return nil
}

// Revision grows with every change, over restarts too.
func (b *Book) Revision() uint64 { return b.state.Load().Revision }

// DryRun is a book as this one is, in which every change that could be made ends
// with that error and is not made.
func (b *Book) DryRun(end error) *Book {
	r := &Book{System: b.System, Directory: b.Directory, Secrets: b.Secrets, Cost: b.Cost, keeper: nowhere{end}, write: new(sync.Mutex), state: new(atomic.Pointer[state]), hashes: b.hashes, asking: b.asking, caller: b.caller}
	r.ChangeSystem = func(context.Context, string, string) (bool, error) { return true, end }
	r.state.Store(b.state.Load())
	return r
}

// nowhere keeps nothing.
type nowhere struct{ why error }

func (n nowhere) ReadDocument(string, any) (bool, error) { return false, nil }
func (n nowhere) WriteDocument(string, any) error        { return n.why }

// owner is the user whose key has this hash. It looks at all of them, whoever it is.
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

// FindKey returns the user whose own key this is, and who may use it.
func (b *Book) FindKey(secret string) (user string, ok bool) {
	hash := sha256.Sum256([]byte(secret))
	if u := b.state.Load().owner(hash[:]); u != nil && u.API {
		return u.Name, true
	}
	return "", false
}
