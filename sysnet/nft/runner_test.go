package nft_test

import (
	"testing"

	"github.com/sluicelb/sluice/sysnet/nft"
)

// runner returns a Runner, or skips the test if nft is not installed.
func runner(t *testing.T) *nft.Runner {
	t.Helper()
	run, err := nft.Find()
	if err != nil {
		t.Skip(err)
	}
	return run
}
