package backup

import (
	"errors"
	"fmt"
)

// Errors that callers may distinguish. Their messages name the remedy.
var (
	// ErrNone means that there is no archive of that name.
	ErrNone = errors.New("the backup does not exist")
	// ErrExists means that the name is in use.
	ErrExists = errors.New("exists")
	// ErrFull means that the maximum number of archives is stored, or that there is no
	// space.
	ErrFull = errors.New("no room")
)

// Error is the reason why an archive is not created, accepted or restored. Nothing was
// changed.
type Error struct{ Message string }

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Incomplete is an error after a replacement of the state: that is in force, but the rest failed. The
// process must be restarted.
type Incomplete struct{ Err error }

// Error returns the message.
func (e *Incomplete) Error() string { return "everything was replaced, but " + e.Err.Error() }

// Unwrap returns the reason.
func (e *Incomplete) Unwrap() error { return e.Err }

func invalid(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// damaged returns the error for an archive that does not match its manifest, or for a file
// that is no archive.
func damaged(format string, args ...any) error {
	return invalid("the archive is damaged, or no backup of Sluice: %s", fmt.Sprintf(format, args...))
}
