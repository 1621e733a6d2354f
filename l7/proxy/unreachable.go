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

// maxHandshakes is how many backends an exchange asks whose handshakes fail for
// what its client sent: one that is not like the others must not stand in its
// way, and a name somebody invented must not cost a handshake with each.
const maxHandshakes = 3

// unreachable notes that a backend could not be connected to. It returns the
// status to answer with when trying others is of no use; 0 when it may be.
//
// What depends on the client says nothing of the backend, and must not take it
// away from others. What is this machine's fault does not, either.
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
	ex.Tried = ex.Tried.With(i)
	switch {
	case ex.concerns(err):
		return ex.notShaken(err)
	case !lacking(err) && !errors.Is(err, loop.ErrPanic), isBind(err):
		ex.w.engine.lost(ex.backend, err)
	}
	return 0
}

// lacking reports whether this machine was short of something. Where a backend
// has a source address of its own, others may do without that, or have ports
// left at theirs.
func lacking(err error) bool {
	return slices.Contains([]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL}, errnoOf(err))
}

// errnoOf is the error of the kernel in err.
func errnoOf(err error) syscall.Errno {
	errno, _ := errors.AsType[syscall.Errno](err)
	return errno
}

// isBind reports whether the source address of a backend cannot be used: it is
// not of this machine. At the connect the same error means that all its ports
// are taken, by clients.
func isBind(err error) bool {
	call, ok := errors.AsType[*os.SyscallError](err)
	return ok && call.Syscall == "bind" && errors.Is(err, syscall.EADDRNOTAVAIL)
}

// concerns reports whether a connect may have failed for what the client of the
// exchange sent: the backend was reached, and then it was asked for the name of
// the request, or told the client's address. Only that it is silent about a name
// that has worked there says something of the backend.
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

// notShaken notes a handshake that failed so. It returns 502 when that is the
// end of the exchange.
func (ex *exchange) notShaken(err error) (status int) {
	ex.unshaken++
	if ex.unshaken >= maxHandshakes || !ex.service.Picker.Free(ex.Tried) && !ex.mayWait() {
		status = 502
	}
	ex.noteBackend(rejected.BadHandshake, status, shakeReason(err))
	if status == 0 {
		ex.recordGoesOn()
	}
	return status
}

// shakeReason says why a handshake failed, with nothing in it that a peer wrote.
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

// lost marks a backend down after a failed connect. Any loop may call it; it
// is not part of the hot path. An exchange that began before a change may fail
// where the backend is not reached any more: that says nothing of it now.
func (e *Engine) lost(b *table.Backend, cause error) {
	e.Prober.Lost(b.ID, b.Reach.Reach, cause, func() *revive.Backend { return e.reachedNow(b.ID) })
}

// reachedNow is how a backend is reached now; nil when it is gone.
func (e *Engine) reachedNow(id uint32) *revive.Backend {
	if now := e.table.Load().Backends.Of(id); now != nil {
		return &now.Reach
	}
	return nil
}

// revived marks a backend up that could be connected to while it was down.
func (e *Engine) revived(b *table.Backend) {
	e.Prober.Revived(b.Reach.Reach, func() *revive.Backend { return e.reachedNow(b.ID) })
}
