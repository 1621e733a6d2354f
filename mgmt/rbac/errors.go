package rbac

import "fmt"

// Kind is the kind of a refusal, which determines the response.
type Kind uint8

// Kinds of errors.
const (
	Invalid   Kind = iota // the request is wrong, or something conflicts with it
	Missing               // the user, group or role does not exist
	Forbidden             // the caller may not change it
)

// Error is the reason why nothing was changed. It never contains a secret.
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

// PartlyError means that the password of root has been changed in the system, but the further
// properties of root have not, for a reason. The sessions of root have ended.
type PartlyError struct{ Reason error }

// PartlyChanged begins the message of a PartlyError.
const PartlyChanged = "the password of root has been changed, but nothing else: "

// Error returns what has been changed, and the reason.
func (e *PartlyError) Error() string { return PartlyChanged + e.Reason.Error() }

// Unwrap returns the reason.
func (e *PartlyError) Unwrap() error { return e.Reason }

// ErrTaken is the error for a key that another user has. It lets users who may choose keys
// guess existing ones, so the caller must limit how often that is possible
// (auth.Guard.ChooseKey).
var ErrTaken = invalid("zapikey: it is not possible, choose another one")
