package ctl

import (
	"errors"
	"fmt"
)

// Code classifies the failure of a request. It is part of the reply.
type Code string

// The codes of a reply; the empty code means success.
const (
	CodeNotPermitted Code = "not permitted"
	CodeInUse        Code = "address in use"
	CodeNotLocal     Code = "address not local"
	CodeInvalid      Code = "invalid request"
	CodeTooMany      Code = "too many sockets"
	CodeBusy         Code = "busy"
	CodeFailed       Code = "failed"
)

// Sentinels for errors.Is, one for each code except CodeFailed.
var (
	// ErrNotPermitted means that the kernel denies the operation to this process.
	ErrNotPermitted = errors.New("not permitted")
	// ErrInUse means that another program holds the address and port.
	ErrInUse = errors.New("address in use")
	// ErrNotLocal means that no interface has the address.
	ErrNotLocal = errors.New("address not local")
	// ErrInvalid means that the request violates the contract.
	ErrInvalid = errors.New("invalid request")
	// ErrTooMany means that a limit of descriptors or listeners is reached.
	ErrTooMany = errors.New("too many sockets")
	// ErrBusy means that all connections to netd have a request in progress.
	ErrBusy = errors.New("busy")
)

var sentinels = map[Code]error{
	CodeNotPermitted: ErrNotPermitted,
	CodeInUse:        ErrInUse,
	CodeNotLocal:     ErrNotLocal,
	CodeInvalid:      ErrInvalid,
	CodeTooMany:      ErrTooMany,
	CodeBusy:         ErrBusy,
}

// Error is a rejection by netd. Text is a sentence for operators with the address and the
// reason. Code is for programs.
type Error struct {
	Code Code
	Text string
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Is reports whether target is the sentinel of e.Code.
func (e *Error) Is(target error) bool { return sentinels[e.Code] == target && target != nil }

func rejection(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// asRejection returns err as an *Error; errors of other types get CodeFailed.
func asRejection(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: CodeFailed, Text: err.Error()}
}
