package backup

import (
	"errors"
	"fmt"
)

// The errors a caller may want to tell apart; they say what to do.
var (
	// ErrNone: there is no archive of that name.
	ErrNone = errors.New("the backup does not exist")
	// ErrExists: the name is taken.
	ErrExists = errors.New("exists")
	// ErrFull: there are as many as are kept, or they have no room.
	ErrFull = errors.New("no room")
)

// Error says why an archive is not made, taken or restored. Nothing was changed.
type Error struct{ Message string }

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func invalid(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// damaged is about an archive that is not what its manifest says, or none at all.
func damaged(format string, args ...any) error {
	return invalid("the archive is damaged, or no backup of Sluice: %s", fmt.Sprintf(format, args...))
}
