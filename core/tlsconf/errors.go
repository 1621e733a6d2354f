package tlsconf

import "errors"

// Why a peer's certificate was refused beyond what crypto/x509 checks; the
// error of a handshake wraps them.
var (
	// ErrRevoked: a certificate of the chain is in its issuer's CRL.
	ErrRevoked = errors.New("certificate is revoked")
	// ErrCRLMissing: the authority has CRLs, but none of this issuer.
	ErrCRLMissing = errors.New("there is no CRL of the certificate's issuer")
	// ErrCRLExpired: the issuer's CRL is past its next update or not yet valid,
	// so nobody knows.
	ErrCRLExpired = errors.New("the CRL of the certificate's issuer is not in force")
)
