package tlsconf

import "errors"

// Reasons to reject a peer's certificate beyond the checks of crypto/x509. Handshake
// errors wrap them.
var (
	// ErrRevoked means that a certificate of the chain is in its issuer's CRL.
	ErrRevoked = errors.New("certificate is revoked")
	// ErrCRLMissing means that the authority has CRLs, but none of this issuer.
	ErrCRLMissing = errors.New("there is no CRL of the certificate's issuer")
	// ErrCRLExpired means that the issuer's CRL is past its next update or not valid
	// yet, so the status is unknown.
	ErrCRLExpired = errors.New("the CRL of the certificate's issuer is not in force")
)
