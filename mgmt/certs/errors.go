package certs

import (
	"errors"
	"fmt"
)

// The errors a caller may want to tell apart, besides *Error. Whatever the
// error, nothing was changed.
var (
	// ErrNotFound: there is no such certificate, CSR or list of authorities.
	ErrNotFound = errors.New("does not exist")
	// ErrExists: the name is taken.
	ErrExists = errors.New("exists already")
	// ErrInUse: a farm or service names it; the message says which.
	ErrInUse = errors.New("is in use")
	// ErrFull: there are as many as there may be.
	ErrFull = errors.New("there are too many")
)

// Error says what is wrong with what was sent, and what to do. It never holds
// a byte of a private key.
type Error struct {
	Message string
	// Password: the password of the file is missing or wrong.
	Password bool
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func invalid(format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...)}
}
