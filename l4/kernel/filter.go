package kernel

import (
	"context"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// Stander is a Filter whose rules others may remove unseen.
type Stander interface {
	// Stands reports whether what was carried is still there.
	Stands(ctx context.Context) bool
}

// Filter carries what a Keeper wants: the packet filter of this kernel, by
// nftables (Nftables) or another way. One goroutine at a time calls Carry, any
// the other methods.
type Filter interface {
	// Carry makes the kernel carry the farms of in and no others of ours.
	// problems are farms that are not carried, by ID; err means that nothing has
	// changed, or that it is not known what has.
	Carry(ctx context.Context, in *rules.Input) (problems map[uint32]string, err error)
	// Rules is what is in the kernel for a farm, Objects everything of ours.
	Rules(ctx context.Context, farm uint32) (string, error)
	Objects(ctx context.Context) ([]ctl.KernelObject, error)
	// Counters are what was counted by backend, connections open now left out.
	Counters(ctx context.Context) (map[uint32]ctl.KernelCount, error)
	// The sessions of a farm that packets began, or Learn: keys are those of
	// SessionKey.
	Learned(ctx context.Context, f *farm.Farm) ([]Session, error)
	Find(ctx context.Context, f *farm.Farm, key string) (Session, bool, error)
	Learn(ctx context.Context, f *farm.Farm, list ...Session) error
	Forget(ctx context.Context, f *farm.Farm, keys ...string) (bool, error)
	ForgetAll(ctx context.Context, f *farm.Farm) error
	// Fill tells which backends were found to have all the connections they may
	// have; all others have room. What the kernel counts itself has the last word
	// but for those in held, of whose connections it has not seen all begin.
	Fill(ctx context.Context, full, held map[uint32]bool) error
}
