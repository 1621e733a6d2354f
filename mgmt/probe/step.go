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

// steps records the current step of a check's protocol and the bytes received since the
// step began, so that the reason of a failure can name both.
type steps struct {
	mu    sync.Mutex // libraries dial in goroutines of their own
	name  string
	heard int    // number of bytes
	first []byte // the first of them; a server may send without end
}

type stepsKey struct{}

// maxFirst is how many bytes of an answer are kept. Secrets are hidden in these before a
// reason shows the first showFirst of them.
const (
	maxFirst  = 1 << 10
	showFirst = 40
)

// Step sets the name of the next step of a probe, e.g. "TLS handshake". The reason of a
// failure begins with the name of the step that failed.
func Step(ctx context.Context, name string) {
	if s, is := ctx.Value(stepsKey{}).(*steps); is {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.name, s.heard, s.first = name, 0, nil
	}
}

// Continue is Step for a step that continues to read the same answer.
func Continue(ctx context.Context, name string) {
	if s, is := ctx.Value(stepsKey{}).(*steps); is {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.name = name
	}
}

// Heard records bytes from a server: plaintext, or a TLS handshake.
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

// Strange is the error for an answer that does not follow the protocol. The reason shows
// the beginning of the answer.
type Strange string

// Error implements error.
func (s Strange) Error() string { return string(s) }

// Unread marks the error of a library that could not read an answer, so that the reason
// shows the beginning of the answer. It does not mark the end or a failure of the
// connection.
func Unread(err error) error {
	var failed net.Error
	if err == nil || errors.As(err, &failed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.Canceled) || errors.As(err, new(syscall.Errno)) {
		return err
	}
	return &unread{err}
}

type unread struct{ error }

func (u *unread) Unwrap() error { return u.error }

// handshakeRecord is the first byte of a TLS handshake (RFC 8446 section 5.1), which is not
// readable.
const handshakeRecord = 22

// shows reports whether the reason of err includes the beginning of the answer.
func shows(err error) bool {
	return errors.As(err, new(Strange)) || errors.As(err, new(*unread)) || errors.As(err, new(tls.RecordHeaderError))
}

// reason returns an error that begins with the name of the step. If err is nil, the step
// timed out.
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

// silence says whether there was a part of an answer at the timeout.
func (s *steps) silence() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heard == 0 {
		return "no answer"
	}
	return "no whole answer"
}
