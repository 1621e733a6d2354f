package ctl

import (
	"errors"
	"fmt"
)

// Code says what kind of trouble a request met; it travels in the reply.
type Code string

// The codes of a reply; the empty code means success.
const (
	CodeNotPermitted Code = "not permitted"
	CodeInUse        Code = "address in use"
	CodeNotLocal     Code = "address not local"
	CodeInvalid      Code = "invalid request"
	CodeTooMany      Code = "too many sockets"
	CodeFailed       Code = "failed"
)

// Sentinels for errors.Is, one for each code worth telling apart.
var (
	// ErrNotPermitted: the system does not allow this process to do it.
	ErrNotPermitted = errors.New("not permitted")
	// ErrInUse: another program holds the address and port.
	ErrInUse = errors.New("address in use")
	// ErrNotLocal: no interface has the address.
	ErrNotLocal = errors.New("address not local")
	// ErrInvalid: the request is outside the contract.
	ErrInvalid = errors.New("invalid request")
	// ErrTooMany: a limit of descriptors or of listeners is reached.
	ErrTooMany = errors.New("too many sockets")
)

var sentinels = map[Code]error{
	CodeNotPermitted: ErrNotPermitted,
	CodeInUse:        ErrInUse,
	CodeNotLocal:     ErrNotLocal,
	CodeInvalid:      ErrInvalid,
	CodeTooMany:      ErrTooMany,
}

// Error is a rejection by netd. Text is a whole sentence for people that names
// the address and the reason; Code is for programs.
type Error struct {
	Code Code
	Text string
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Is reports whether target is the sentinel of the error's code.
func (e *Error) Is(target error) bool { return sentinels[e.Code] == target && target != nil }

func rejection(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// asRejection turns any error into one that can travel.
func asRejection(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: CodeFailed, Text: err.Error()}
}
