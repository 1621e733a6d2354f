package kernel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// Filter carries what a Reconciler wants: the packet filter of this kernel, by
// l4/kernel/nftables or another way. One goroutine at a time calls Carry and
// Intact, any the other methods.
type Filter interface {
	// Carry makes the kernel carry the farms of in and no others of ours.
	// problems are farms that are not carried, by ID; err means that nothing has
	// changed, or that it is not known what has.
	Carry(ctx context.Context, in *rules.Input) (problems map[uint32]string, err error)
	// Check returns the farms of in that would not be carried and why, by ID, as
	// far as that can be told without changing anything.
	Check(ctx context.Context, in *rules.Input) map[uint32]string
	// Intact reports whether what was carried is still there: others may remove
	// rules unseen. After Doubt, or false, the next Carry makes everything anew.
	Intact(ctx context.Context) bool
	Doubt()
	// Noted returns the backends that packets noted as full, with the time of the note.
	Noted(ctx context.Context) (map[uint32]time.Time, error)
	// Fill corrects the notes by what was counted.
	Fill(ctx context.Context, c rules.Counted) error
	Inspector
	Sessions
}

// Inspector tells what a Filter has.
type Inspector interface {
	// Rules is what is in the kernel for a farm, Objects everything of ours.
	Rules(ctx context.Context, farm uint32) (string, error)
	Objects(ctx context.Context) ([]ctl.KernelObject, error)
	// Counters are what was counted by backend, connections open now left out.
	Counters(ctx context.Context) (map[uint32]ctl.KernelCount, error)
	// Warnings are what keeps a farm that is carried from working as it should,
	// in sentences for people.
	Warnings(f *farm.Farm) []string
}

// Sessions are those of farms that packets began, or Learn; keys are those of
// rules.SessionKey.
type Sessions interface {
	Learned(ctx context.Context, f *farm.Farm) ([]ctl.KernelSession, error)
	Find(ctx context.Context, f *farm.Farm, key string) (ctl.KernelSession, bool, error)
	Learn(ctx context.Context, f *farm.Farm, list ...ctl.KernelSession) error
	Forget(ctx context.Context, f *farm.Farm, keys ...string) (bool, error)
	ForgetAll(ctx context.Context, f *farm.Farm) error
}

// ErrNoFilter: there is no way to carry anything.
var ErrNoFilter = errors.New("this system has no packet filter that can be used")

// Unable is a Filter that cannot; Reason says why.
type Unable struct{ Reason error }

func (u Unable) err() error { return fmt.Errorf("%w: %w", ErrNoFilter, u.Reason) }

// Carry fails, which is a problem of farms that are to run.
func (u Unable) Carry(context.Context, *rules.Input) (map[uint32]string, error) { return nil, u.err() }

// Rules implements Filter: there are none.
func (u Unable) Rules(context.Context, uint32) (string, error) { return "", nil }

// Objects implements Filter: there are none.
func (u Unable) Objects(context.Context) ([]ctl.KernelObject, error) { return nil, nil }

// Counters implements Filter: there are none.
func (u Unable) Counters(context.Context) (map[uint32]ctl.KernelCount, error) { return nil, nil }

// Learned implements Filter.
func (u Unable) Learned(context.Context, *farm.Farm) ([]ctl.KernelSession, error) {
	return nil, u.err()
}

// Find implements Filter.
func (u Unable) Find(context.Context, *farm.Farm, string) (ctl.KernelSession, bool, error) {
	return ctl.KernelSession{}, false, u.err()
}

// Learn implements Filter.
func (u Unable) Learn(context.Context, *farm.Farm, ...ctl.KernelSession) error { return u.err() }

// Forget implements Filter.
func (u Unable) Forget(context.Context, *farm.Farm, ...string) (bool, error) { return false, u.err() }

// ForgetAll implements Filter.
func (u Unable) ForgetAll(context.Context, *farm.Farm) error { return u.err() }

// Noted implements Filter.
func (u Unable) Noted(context.Context) (map[uint32]time.Time, error) { return nil, nil }

// Fill implements Filter.
func (u Unable) Fill(context.Context, rules.Counted) error { return nil }

// Check implements Filter: trying says why.
func (u Unable) Check(context.Context, *rules.Input) map[uint32]string { return nil }

// Intact implements Filter: nothing can be removed.
func (u Unable) Intact(context.Context) bool { return true }

// Doubt implements Filter.
func (u Unable) Doubt() {}

// Warnings implements Filter: there are none.
func (u Unable) Warnings(*farm.Farm) []string { return nil }
