package auth

import (
	"errors"
	"fmt"
	"time"
)

// The refusals. Their texts are for logs: the answer to the client tells no
// more than that a credential is needed.
var (
	// ErrNoCredential occurs when a request carries no key and came over the network.
	ErrNoCredential = errors.New("no credential")
	// ErrBadCredential occurs when the key is unknown, or two different ones were sent.
	ErrBadCredential = errors.New("wrong credential")
)

// LockedError is the refusal of a source that sent too many wrong keys.
type LockedError struct {
	// Wait is the time until the source may try again.
	Wait time.Duration
}

// Error says how long the source has to wait.
func (e *LockedError) Error() string {
	return fmt.Sprintf("too many wrong credentials: wait %s", e.Wait.Round(time.Second))
}
