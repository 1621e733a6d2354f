package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
)

// steps records which step of its protocol a check takes and what it heard since that
// step began, so that the reason of a failure can name both.
type steps struct {
	mu    sync.Mutex // libraries dial in goroutines of their own
	name  string
	heard int    // bytes
	first []byte // the beginning of these; a server may send without end
}

type stepsKey struct{}

// maxFirst is how much of an answer is kept, in bytes. Secrets are hidden in it before it
// is cut to what a reason shows.
const (
	maxFirst  = 1 << 10
	showFirst = 40
)

// Step says which step of its protocol a probe takes next, for example "TLS handshake". The
// reason of a failure begins with the name of the step that failed.
func Step(ctx context.Context, name string) {
	if s, is := ctx.Value(stepsKey{}).(*steps); is {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.name, s.heard, s.first = name, 0, nil
	}
}

// Continue is Step for one in which the same answer goes on to be read.
func Continue(ctx context.Context, name string) {
	if s, is := ctx.Value(stepsKey{}).(*steps); is {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.name = name
	}
}

// Heard notes bytes that a server sent: plaintext, or a handshake of TLS.
func Heard(ctx context.Context, b []byte) {
	if s, is := ctx.Value(stepsKey{}).(*steps); is {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.heard += len(b)
		if room := maxFirst - len(s.first); room > 0 {
			s.first = append(s.first, b[:min(room, len(b))]...)
		}
	}
}

// Strange is the error of an answer that is not of the protocol. The reason shows how the
// answer begins.
type Strange string

// Error implements error.
func (s Strange) Error() string { return string(s) }

// Unread marks the error of a library that could not read an answer, so that the reason
// shows how this begins. Ends and failures of the connection stay what they are.
func Unread(err error) error {
	var failed net.Error
	if err == nil || errors.As(err, &failed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.Canceled) || errors.As(err, new(syscall.Errno)) {
		return err
	}
	return &unread{err}
}

type unread struct{ error }

func (u *unread) Unwrap() error { return u.error }

// handshakeRecord is the first byte of a handshake of TLS (RFC 8446 section 5.1), which is
// for nobody to read.
const handshakeRecord = 22

// shows reports whether the beginning of the answer belongs to the reason.
func shows(err error) bool {
	return errors.As(err, new(Strange)) || errors.As(err, new(*unread)) || errors.As(err, new(tls.RecordHeaderError))
}

// reason puts the step before what happened in it. Without an error its time was over.
func (s *steps) reason(err error, what string, secrets []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.first) > 0 && (err == nil || shows(err)) && s.first[0] != handshakeRecord {
		begins := strings.TrimRight(Hide(string(s.first), secrets), "\r\n")
		if len(begins) > showFirst {
			begins = begins[:showFirst] + "…"
		}
		what += fmt.Sprintf(": it begins with %q", begins)
	}
	if s.name == "" || strings.HasPrefix(what, s.name+":") {
		return errors.New(Line(what))
	}
	return errors.New(Line(s.name + ": " + what))
}

// silence says how much of an answer there was when the time was over.
func (s *steps) silence() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heard == 0 {
		return "no answer"
	}
	return "no whole answer"
}
