package nft_test

import (
	"testing"

	"github.com/sluicelb/sluice/sysnet/nft"
)

// runner finds nft, without which there is nothing to test.
func runner(t *testing.T) *nft.Runner {
	t.Helper()
	run, err := nft.Find()
	if err != nil {
		t.Skip(err)
	}
	return run
}
