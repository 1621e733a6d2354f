package auth

import (
	"errors"
	"fmt"
	"time"
)

// The rejections. Their texts are for logs: the response only says that a credential is
// needed.
var (
	// ErrNoCredential occurs when a request has no key and came over the network.
	ErrNoCredential = errors.New("no credential")
	// ErrBadCredential occurs when the key is unknown, two different keys were sent, or
	// user and password do not match.
	ErrBadCredential = errors.New("wrong credential")
	// ErrLoggedIn occurs when the sender of a request for a session already has one.
	ErrLoggedIn = errors.New("logged in already")
	// ErrNotAllowed occurs when a user may not log in with a password.
	ErrNotAllowed = errors.New("log-in with a password is not allowed")
)

// LockedError is the rejection of a source that sent too many wrong keys.
type LockedError struct {
	// Wait is the time until the source may try again.
	Wait time.Duration
}

// Error says how long the source has to wait.
func (e *LockedError) Error() string {
	return fmt.Sprintf("too many wrong credentials: wait %s", e.Wait.Round(time.Second))
}
