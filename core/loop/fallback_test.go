package loop_test

import "testing"

// If a Go release makes the buffers of crypto/tls inaccessible, connections only use
// more memory.
func TestFallbackWithoutCryptoTLSInternalsBehavesTheSame(t *testing.T) {
	rerunThese(t, "^Test(SecureEcho|SecureConnection|Ends|EndOfThePeer|HalfClosed|BufferedPlaintext|BytesWritten|Sessions)",
		"LOOP_NO_WAY_INSIDE=1")
}
