package kernel

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

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
func (u Unable) Learned(context.Context, *farm.Farm) ([]Session, error) { return nil, u.err() }

// Find implements Filter.
func (u Unable) Find(context.Context, *farm.Farm, string) (Session, bool, error) {
	return Session{}, false, u.err()
}

// Learn implements Filter.
func (u Unable) Learn(context.Context, *farm.Farm, ...Session) error { return u.err() }

// Forget implements Filter.
func (u Unable) Forget(context.Context, *farm.Farm, ...string) (bool, error) { return false, u.err() }

// ForgetAll implements Filter.
func (u Unable) ForgetAll(context.Context, *farm.Farm) error { return u.err() }

// Fill implements Filter.
func (u Unable) Fill(_ context.Context, _, _ map[uint32]bool) error { return nil }
