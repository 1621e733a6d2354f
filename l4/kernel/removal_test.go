package kernel_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// No running farm can show that rules of a stopped or deleted one remain.
func TestRemovalOfTheLastFarmIsRetried(t *testing.T) {
	for name, last := range map[string][]farm.Farm{
		"deleted": nil,
		"stopped": {l4test.Stopped(l4test.Example(nil))},
	} {
		t.Run(name, func(t *testing.T) {
			var log logtest.Log
			f := &observed{}
			k := kernel.New(kernel.Options{Filter: f, Connections: f, Log: slog.New(slog.NewTextHandler(&log, nil))})
			apply := func(farms ...farm.Farm) { k.Apply(t.Context(), 1, &farm.Config{Farms: farms}) }
			apply(l4test.Example(nil))
			f.fails = errors.New("the rules are locked")
			apply(last...)
			warned := func() (details string) {
				list, err := k.Objects(t.Context())
				if err != nil {
					t.Error(err)
				}
				for _, o := range list {
					if o.Kind == "warning" {
						details += o.Detail
					}
				}
				return details
			}
			if got := warned(); !strings.Contains(got, "the rules are locked") {
				t.Errorf("objects do not warn: %q", got)
			}
			times := f.carried()
			for range 2 {
				k.Age(6 * time.Second)
				k.Follow(t.Context())
			}
			if got := f.carried() - times; got != 2 {
				t.Errorf("retried %d times, want 2", got)
			}
			if lines := log.Lines("may still be in the kernel"); len(lines) != 1 {
				t.Errorf("log: %q", lines)
			}
			f.fails = nil
			k.Age(6 * time.Second)
			k.Follow(t.Context())
			times = f.carried()
			k.Age(6 * time.Second)
			k.Follow(t.Context())
			if got := warned(); got != "" || f.carried() != times {
				t.Errorf("after the removal: %q, carried %d times more", got, f.carried()-times)
			}
		})
	}
}

// An ordinary user, and a machine without nft, have no rules to remove.
func TestRemovalIsNotRetriedWithoutTheRightToChangeRules(t *testing.T) {
	for _, fails := range []error{nft.ErrNotPermitted, kernel.ErrNoFilter} {
		f := &observed{}
		f.fails = fails
		k := kernel.New(kernel.Options{Filter: f, Connections: f, Log: l4test.Quiet})
		k.Apply(t.Context(), 1, &farm.Config{})
		times := f.carried()
		k.Age(6 * time.Second)
		k.Follow(t.Context())
		var list []ctl.KernelObject
		if list, _ = k.Objects(t.Context()); f.carried() != times || len(list) != 0 {
			t.Errorf("%v: carried %d times more; %v", fails, f.carried()-times, list)
		}
	}
}
