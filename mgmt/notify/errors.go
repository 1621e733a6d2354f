package notify

import "fmt"

// Kind is the kind of an error.
type Kind int

// Kinds of errors.
const (
	Invalid     Kind = iota // an invalid value
	Missing                 // the alert does not exist
	Already                 // the state is already as requested
	Unset                   // no mail server is configured
	Unreachable             // the mail server did not accept it
)

// Error is an error for the client.
type Error struct {
	Kind Kind
	text string
}

// Error implements error.
func (e *Error) Error() string { return e.text }

func refuse(k Kind, format string, args ...any) *Error {
	return &Error{k, fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) *Error { return refuse(Invalid, format, args...) }

// show quotes a text from the client, truncated.
func show(text string) string {
	if len(text) > 80 {
		text = text[:80] + "…"
	}
	return fmt.Sprintf("%q", text)
}
