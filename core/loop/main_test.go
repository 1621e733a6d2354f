package loop_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/loop"
)

// An aborted handshake must not leave its coroutine behind, and the counts of open
// descriptors must return to zero.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if left := loop.OpenCounts(); code == 0 && left != [4]int64{} {
			fmt.Printf("still counted as open: %v\n", left)
			code = 1
		}
		os.Exit(code)
	}))
}
