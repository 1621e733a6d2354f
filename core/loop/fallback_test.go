package loop_test

import "testing"

// A Go release in which the buffers of crypto/tls cannot be reached makes
// connections heavier and nothing else.
func TestWithoutAWayInsideCryptoTLSTheSameHolds(t *testing.T) {
	rerunThese(t, "^Test(SecureEcho|SecureConnection|Ends|EndOfThePeer|HalfClosed|PlaintextThatIsLeft|BytesWritten|Sessions)",
		"LOOP_NO_WAY_INSIDE=1")
}
