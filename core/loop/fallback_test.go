package loop_test

import "testing"

// If a Go release makes the buffers of crypto/tls inaccessible, connections only use
// more memory.
func TestWithoutAWayInsideCryptoTLSTheSameHolds(t *testing.T) {
	rerunThese(t, "^Test(SecureEcho|SecureConnection|Ends|EndOfThePeer|HalfClosed|PlaintextThatIsLeft|BytesWritten|Sessions)",
		"LOOP_NO_WAY_INSIDE=1")
}
