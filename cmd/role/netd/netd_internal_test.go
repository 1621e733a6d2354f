package netd

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/l4/kernel/nftables"
	"github.com/sluicelb/sluice/sysnet/nft"
)

func TestLastClientsAreAnnouncedByASignal(t *testing.T) {
	last := lastClients(t.Context())
	select {
	case <-last:
		t.Fatal("the stacks appear without a signal")
	default:
	}
	if err := syscall.Kill(os.Getpid(), supervisor.LastClients); err != nil {
		t.Fatal(err)
	}
	select {
	case <-last:
	case <-time.After(10 * time.Second):
		t.Error("the signal has no effect")
	}
}

// nf_tables is used despite any error except its absence from the kernel.
func TestFarmsAreCarriedByNFTablesUnlessTheKernelHasNone(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel() // the kernel is not queried
	_, missing := nft.Find()
	if got, is := packetFilter(ended).(*nftables.Filter); is != (missing == nil) {
		t.Errorf("the way is %T, %v", got, missing)
	}
}
