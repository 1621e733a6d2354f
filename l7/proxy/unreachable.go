package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"syscall"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/revive"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/table"
)

// maxHandshakes bounds the backends tried by an exchange whose handshakes fail because of
// its client's input. A single misconfigured backend must not fail the exchange, and an
// invented name must not cost a handshake with every backend.
const maxHandshakes = 3

// unreachable handles a failed connect to a backend. It returns the status of the response if
// the exchange ends without trying other backends, else 0.
//
// Failures caused by the client or by this machine do not count against the backend, which
// must stay available to others.
func (ex *exchange) unreachable(i int, err error) (status int) {
	ex.release()
	switch {
	case errors.Is(err, marks.ErrNone):
		ex.noteBackend(rejected.NoMarked, 503, marks.ErrNone.Error())
		return 503
	case lacking(err) && !(errors.Is(err, syscall.EADDRNOTAVAIL) && ex.backend.Target.Options.Source.IsValid()):
		ex.noteBackend(rejected.Shortage, 503, "this machine cannot connect: "+errnoOf(err).Error())
		return 503
	}
	ex.backendStats().ConnectFailures++
	ex.choice.Tried = ex.choice.Tried.With(i)
	switch {
	case ex.concerns(err):
		return ex.sending.notShaken(ex, err)
	case !lacking(err) && !errors.Is(err, loop.ErrPanic), isBind(err):
		ex.w.engine.lost(ex.backend, err)
	}
	return 0
}

// lacking reports whether this machine ran out of a resource. With a separate source address
// per backend, other backends may still have free ports.
func lacking(err error) bool {
	return slices.Contains([]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL}, errnoOf(err))
}

// errnoOf returns the kernel error in err.
func errnoOf(err error) syscall.Errno {
	errno, _ := errors.AsType[syscall.Errno](err)
	return errno
}

// isBind reports whether the source address of a backend is not an address of this machine.
// The same error at connect means that clients use all its ports.
func isBind(err error) bool {
	call, ok := errors.AsType[*os.SyscallError](err)
	return ok && call.Syscall == "bind" && errors.Is(err, syscall.EADDRNOTAVAIL)
}

// concerns reports whether a connect may have failed because of the client's input: the
// backend was reached and then got the request's name or the client's address. Only silence
// about a name that worked there before counts against the backend.
func (ex *exchange) concerns(err error) bool {
	if _, shook := errors.AsType[*loop.HandshakeError](err); !shook || errors.Is(err, loop.ErrPanic) {
		return false
	}
	to, names := &ex.backend.Target, ex.service.TLS
	if names.Fixed() {
		return to.Announce != 0
	}
	return !errors.Is(err, loop.ErrTimeout) || to.Announce != 0 || !names.HasWorked(ex.backend.ID, ex.nameAsked())
}

// notShaken records such a handshake. It returns 502 if the exchange ends with it, else 0.
func (s *sending) notShaken(ex *exchange, err error) (status int) {
	s.unshaken++
	if s.unshaken >= maxHandshakes || !ex.service.Picker.Free(ex.choice.Tried) && !ex.queue.mayWait(ex) {
		status = 502
	}
	ex.noteBackend(rejected.BadHandshake, status, shakeReason(err))
	if status == 0 {
		ex.record.clearRejection()
	}
	return status
}

// shakeReason returns why a handshake failed, without text written by a peer.
func shakeReason(err error) string {
	if _, is := errors.AsType[x509.HostnameError](err); is {
		return "the certificate of the backend is for other names than the request's"
	}
	if _, is := errors.AsType[x509.UnknownAuthorityError](err); is {
		return "the certificate of the backend is from an authority that is not trusted"
	}
	if bad, is := errors.AsType[x509.CertificateInvalidError](err); is && bad.Reason == x509.Expired {
		return "the certificate of the backend is not valid now"
	}
	if _, is := errors.AsType[*tls.CertificateVerificationError](err); is {
		return "the certificate of the backend is not valid"
	}
	if _, is := errors.AsType[tls.RecordHeaderError](err); is {
		return "the backend does not speak TLS"
	}
	if alert, is := errors.AsType[*net.OpError](err); is && alert.Op == "remote error" {
		return "the backend refused the handshake: " + alert.Err.Error() // a text of crypto/tls
	}
	switch {
	case errors.Is(err, loop.ErrTimeout):
		return "the handshake was not complete in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the backend ended the connection in the handshake"
	}
	return "the handshake failed"
}

// lost marks a backend down after a failed connect. It is safe for concurrent use and off
// the hot path. If the backend has changed since the exchange began, the failure does not
// count.
func (e *Engine) lost(b *table.Backend, cause error) {
	e.Prober.Lost(b.ID, b.Reach.Reach, cause, func() *revive.Backend { return e.reachedNow(b.ID) })
}

// reachedNow returns the current way to reach a backend, or nil if it was removed.
func (e *Engine) reachedNow(id uint32) *revive.Backend {
	if now := e.table.Load().Backends.Of(id); now != nil {
		return &now.Reach
	}
	return nil
}

// revived marks a backend up after a successful connect while it was down.
func (e *Engine) revived(b *table.Backend) {
	e.Prober.Revived(b.Reach.Reach, func() *revive.Backend { return e.reachedNow(b.ID) })
}
