package loop_test

import (
	"testing"

	"go.uber.org/goleak"
)

// A handshake that was given up must not leave its coroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
