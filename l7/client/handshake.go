package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// handshakeReason returns why the handshake of a client failed, in our own words. It returns
// "" for a client that just left: port scanners, checks of other load balancers and closed
// browser tabs would fill the log.
func handshakeReason(err error) string {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return ""
	case errors.Is(err, loop.ErrBusy):
		return "too many handshakes wait"
	case errors.Is(err, loop.ErrTimeout):
		return "TLS handshake not complete in time"
	case errors.Is(err, loop.ErrPanic):
		return "internal error in the TLS handshake"
	}
	if reason := certificateReason(err); reason != "" {
		return reason
	}
	if alert, is := errors.AsType[*net.OpError](err); is {
		return alertReason(alert)
	}
	text := err.Error()
	for _, known := range handshakeErrors {
		if strings.HasPrefix(text, known.prefix) {
			return known.reason
		}
	}
	return "TLS handshake failed"
}

// certificateReason returns the fault of the client's certificate, or "".
func certificateReason(err error) string {
	if bad, is := errors.AsType[x509.CertificateInvalidError](err); is && bad.Reason == x509.Expired {
		return "the client's certificate has expired or is not valid yet"
	}
	if _, is := errors.AsType[x509.UnknownAuthorityError](err); is {
		return "the client's certificate is not signed by an authority of client_ca"
	}
	for _, known := range [...]error{tlsconf.ErrRevoked, tlsconf.ErrCRLMissing, tlsconf.ErrCRLExpired} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if _, is := errors.AsType[*tls.CertificateVerificationError](err); is {
		return "the client's certificate is not valid for client authentication"
	}
	return ""
}

// alertReason returns the alert that ended a handshake. Alerts are numbers on the wire; their
// texts are from crypto/tls.
func alertReason(alert *net.OpError) string {
	text := strings.TrimPrefix(alert.Err.Error(), "tls: ")
	switch {
	case alert.Op == "remote error":
		return "the client ended the TLS handshake: " + text
	case text == "bad record MAC":
		// OpenSSL sends its alert about the certificate of a TLS 1.3 server unencrypted, which
		// crypto/tls cannot read at this point.
		return "bad record MAC: the client probably ended the TLS handshake because it does not trust the certificate"
	}
	return "malformed TLS handshake: " + text
}

// handshakeErrors maps the beginnings of errors of crypto/tls, which contain values of the
// client, to fixed reasons.
var handshakeErrors = [...]struct{ prefix, reason string }{
	{"tls: client offered only unsupported versions", "the client offers only TLS versions that the farm disables"},
	{"tls: no cipher suite supported", "the client offers no cipher suite of the farm"},
	{"tls: no key exchanges supported", "the client offers no key exchange of the farm"},
	{"tls: no supported elliptic curves", "the client offers no key exchange of the farm"},
	{"tls: client didn't provide a certificate", "the client sent no certificate, which client_auth requires"},
	{"tls: client requested unsupported application protocols", "the client offers no protocol (ALPN) of the farm"},
	{"tls: client using inappropriate protocol fallback", "the client fell back to an older TLS version although the farm supports a newer one"},
	{"tls: failed to parse client certificate", "the client's certificate is malformed"},
	{"tls: client certificate", "the client's certificate has a key or signature that TLS does not allow"},
	{"tls: invalid signature by the client certificate", "the client does not have the key of its certificate"},
}
