package notify

import "fmt"

// Kind says what is wrong with a request.
type Kind int

// Kinds of errors.
const (
	Invalid     Kind = iota // a value that is not allowed
	Missing                 // there is no such alert
	Already                 // it is so already
	Unset                   // there is no mail server
	Unreachable             // the mail server did not take it
)

// Error is what is wrong, for the client.
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

// show quotes what a client sent, cut.
func show(text string) string {
	if len(text) > 80 {
		text = text[:80] + "…"
	}
	return fmt.Sprintf("%q", text)
}
