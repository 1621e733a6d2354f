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

// Filter loads the rules a Reconciler wants into the kernel's packet filter
// (l4/kernel/nftables or l4/kernel/iptables). Carry and Intact are called by one goroutine
// at a time, the other methods by any.
type Filter interface {
	// Carry makes the kernel carry exactly the farms of in. problems holds the farms that
	// are not carried, by ID. An error means that nothing changed, or that the state of the
	// kernel is unknown.
	Carry(ctx context.Context, in *rules.Input) (problems map[uint32]string, err error)
	// Check returns the farms of in that could not be carried, with the reasons, by ID. It
	// finds what can be found without changing anything.
	Check(ctx context.Context, in *rules.Input) map[uint32]string
	// Intact reports whether the loaded rules are still there: others may remove rules
	// without notice. After Doubt, or a false result, the next Carry rebuilds everything.
	Intact(ctx context.Context) bool
	Doubt()
	// Resets returns how often Carry rebuilt everything. The rules then count the connections of
	// limits from zero, whichever are open.
	Resets() uint64
	// Remembered returns Flushed and Cut of the input that the kernel carries, whichever
	// process loaded it.
	Remembered(ctx context.Context) (flushed, cut map[uint32]bool, err error)
	// Noted returns the backends that packets marked as full, with the time.
	Noted(ctx context.Context) (map[uint32]time.Time, error)
	// Fill corrects these notes by counted connections.
	Fill(ctx context.Context, c rules.Counted) error
	Inspector
	Sessions
}

// Inspector shows the contents of a Filter.
type Inspector interface {
	// Rules returns a farm's rules in the kernel, Objects all objects of this program.
	Rules(ctx context.Context, farm uint32) (string, error)
	Objects(ctx context.Context) ([]ctl.KernelObject, error)
	// Counters returns the counters by backend, without the number of open connections.
	Counters(ctx context.Context) (map[uint32]ctl.KernelCount, error)
	// Warnings returns readable warnings about a carried farm that may not work correctly.
	Warnings(f *farm.Farm) []string
}

// Sessions gives access to the sessions of farms, made by packets or by Learn. Keys have the
// form of rules.SessionKey.
type Sessions interface {
	Learned(ctx context.Context, f *farm.Farm) ([]ctl.KernelSession, error)
	Find(ctx context.Context, f *farm.Farm, key string) (ctl.KernelSession, bool, error)
	Learn(ctx context.Context, f *farm.Farm, list ...ctl.KernelSession) error
	Forget(ctx context.Context, f *farm.Farm, keys ...string) (bool, error)
	ForgetAll(ctx context.Context, f *farm.Farm) error
}

// ErrNoFilter means that no packet filter is available.
var ErrNoFilter = errors.New("this system has no packet filter that can be used")

// Unable is the Filter of a system without a usable packet filter, for the given Reason.
type Unable struct{ Reason error }

func (u Unable) err() error { return fmt.Errorf("%w: %w", ErrNoFilter, u.Reason) }

// Carry implements Filter. It fails, which is a problem of all farms that should run.
func (u Unable) Carry(context.Context, *rules.Input) (map[uint32]string, error) { return nil, u.err() }

// Rules implements Filter.
func (u Unable) Rules(context.Context, uint32) (string, error) { return "", nil }

// Objects implements Filter.
func (u Unable) Objects(context.Context) ([]ctl.KernelObject, error) { return nil, nil }

// Counters implements Filter.
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

// Remembered implements Filter.
func (u Unable) Remembered(context.Context) (flushed, cut map[uint32]bool, err error) {
	return nil, nil, nil
}

// Resets implements Filter.
func (u Unable) Resets() uint64 { return 0 }

// Noted implements Filter.
func (u Unable) Noted(context.Context) (map[uint32]time.Time, error) { return nil, nil }

// Fill implements Filter.
func (u Unable) Fill(context.Context, rules.Counted) error { return nil }

// Check implements Filter. The reason is reported by Carry.
func (u Unable) Check(context.Context, *rules.Input) map[uint32]string { return nil }

// Intact implements Filter.
func (u Unable) Intact(context.Context) bool { return true }

// Doubt implements Filter.
func (u Unable) Doubt() {}

// Warnings implements Filter.
func (u Unable) Warnings(*farm.Farm) []string { return nil }
