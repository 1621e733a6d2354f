package certs

import (
	"errors"
	"fmt"
)

// Errors that callers may distinguish, besides *Error. After any error, nothing has
// changed.
var (
	// ErrNotFound means that the certificate, CSR or authority list does not exist.
	ErrNotFound = errors.New("does not exist")
	// ErrExists means that the name is in use.
	ErrExists = errors.New("exists already")
	// ErrInUse means that a farm or service refers to it; the message names them.
	ErrInUse = errors.New("is in use")
	// ErrReplaced means that another certificate is in use than the caller believes.
	ErrReplaced = errors.New("has been replaced meanwhile: look at it and try again")
	// ErrFull means that the maximum number is reached.
	ErrFull = errors.New("there are too many")
)

// Error describes a problem in the input and its remedy. It never contains a byte of a
// private key.
type Error struct {
	Message string
	// Password means that the password of the file is missing or wrong.
	Password bool
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func invalid(format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...)}
}
