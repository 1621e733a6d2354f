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

func invalid(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// damaged returns the error for an archive that does not match its manifest, or for a file
// that is no archive.
func damaged(format string, args ...any) error {
	return invalid("the archive is damaged, or no backup of Sluice: %s", fmt.Sprintf(format, args...))
}
