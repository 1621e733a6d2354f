package marks

import (
	"errors"
	"fmt"
)

var (
	// ErrNone means that a reserve is empty. The connect fails for a local reason, not
	// because of the backend.
	ErrNone = errors.New("no socket with the mark is at hand")
	// ErrNotPermitted means that netd may not set marks.
	ErrNotPermitted = errors.New("setting the mark of a connection needs CAP_NET_ADMIN, which an ordinary user's netd does not have: start Sluice as root, or remove the mark")
	// ErrSilent means that netd did not answer in time.
	ErrSilent = errors.New("netd, which makes sockets with a mark, does not answer: it is started again when it dies, try again")
	// ErrFamily means that the machine does not support the IP version.
	ErrFamily = errors.New("this machine has no such IP version")
	// ErrTooMany means that a limit of open files is reached.
	ErrTooMany = errors.New("the limit of open files is reached")
	// ErrUnneeded means that no published farm needs sockets of the kind.
	ErrUnneeded = errors.New("no farm in force needs such sockets")
	errFailed   = errors.New("netd cannot make sockets with a mark: its log says why")
)

// errorOf returns the error for a code; nil for Made.
func errorOf(c Code) error {
	switch c {
	case Made:
		return nil
	case NotPermitted:
		return ErrNotPermitted
	case NoFamily:
		return ErrFamily
	case TooMany:
		return ErrTooMany
	case Unneeded:
		return ErrUnneeded
	}
	return errFailed
}

// String describes the outcome.
func (c Code) String() string {
	if err := errorOf(c); err != nil {
		return err.Error()
	}
	return "made"
}

// talkError wraps an error of the socket pair.
func talkError(err error) error { return fmt.Errorf("asking netd for sockets with a mark: %w", err) }
