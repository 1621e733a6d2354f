package rbac

import "fmt"

// Kind says what a refused call can be answered with.
type Kind uint8

// Kinds of errors.
const (
	Invalid   Kind = iota // what was sent is wrong, or something is in its way
	Missing               // the user, group or role is not there
	Forbidden             // the caller may not change it
)

// Error says why nothing was changed. It never holds a secret.
type Error struct {
	Kind    Kind
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func invalid(format string, args ...any) error { return &Error{Invalid, fmt.Sprintf(format, args...)} }
func forbidden(format string, args ...any) error {
	return &Error{Forbidden, fmt.Sprintf(format, args...)}
}
func missing(format string, args ...any) error { return &Error{Missing, fmt.Sprintf(format, args...)} }

// ErrTaken is the error of a key that another user has. Whoever may choose keys can guess
// with it, so the caller must limit how often that is (auth.Guard.ChooseKey).
var ErrTaken = invalid("zapikey: it is not possible, choose another one")
