package kernel_test

import (
	"context"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// ruleset is what nft lists of all tables.
func (s *site) ruleset() string { return s.Appliance.Run("nft", "list", "ruleset") }

func TestAFarmTheKernelRefusesIsNobodyElsesProblem(t *testing.T) {
	s := newSite(t, 1)
	good := s.l4(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	s.apply(good)
	before := s.ruleset()
	bad := s.l4(2, farm.L4TCP, farm.NATMasquerade, true, 81)
	bad.L4.Backends[0].Addr = bad.L4.Backends[0].Addr.WithZone("eth0")
	clash := s.l4(3, farm.L4TCP, farm.NATTarget, false, 80) // that of good
	var problems map[uint32]string
	s.in(func(ctx context.Context) {
		problems = s.keeper.Apply(ctx, 9, &farm.Config{Farms: []farm.Farm{good, bad, clash}})
	})
	if len(problems) != 2 || !strings.Contains(problems[2], "zone") || !strings.Contains(problems[3], "taken") {
		t.Errorf("problems: %v", problems)
	}
	if after := s.ruleset(); after != before {
		t.Errorf("the rules changed:\n%s\n%s", before, after)
	}
	if got := s.ask("tcp", netip.Addr{}, s.vip4+":80"); got.Server != "b1" {
		t.Errorf("%+v", got)
	}
}

// fails is an nft that does nothing and says so.
func fails(t *testing.T, says string) *nft.Runner {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nft")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho '"+says+"' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return nft.At(path)
}

func TestWithoutTheRightEveryFarmSaysWhy(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	k := kernel.New(kernel.Options{
		Filter:      kernel.NewNftables(fails(t, "Error: Operation not permitted (you must be root)"), quiet),
		Connections: none{}, Log: quiet,
	})
	problems := k.Apply(context.Background(), 1, &farm.Config{Farms: []farm.Farm{l4test.Example(nil), l4test.Example(func(f *farm.Farm) { f.ID, f.Stopped = 8, true })}})
	if len(problems) != 1 || !strings.Contains(problems[7], "not permitted") {
		t.Errorf("problems: %v", problems)
	}
	u := kernel.New(kernel.Options{Filter: kernel.Unable{Reason: nft.ErrMissing}, Connections: none{}, Log: quiet})
	if problems := u.Apply(context.Background(), 1, &farm.Config{Farms: []farm.Farm{l4test.Example(nil)}}); !strings.Contains(problems[7], "not installed") {
		t.Errorf("problems: %v", problems)
	}
}

// none is no connections.
type none struct{}

func (none) Count(context.Context) (map[uint32]conntrack.Counts, error) { return nil, nil }
func (none) Flush(context.Context, func(uint32) bool) error             { return nil }

func TestATransactionCutShortIsDoneOrNotAndThenDone(t *testing.T) {
	s := newSite(t, 0)
	quiet := slog.New(slog.DiscardHandler)
	filter := kernel.NewNftables(s.run, quiet)
	carry := func(limit time.Duration, farms []farm.Farm) (err error) {
		s.in(func(ctx context.Context) {
			if limit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, limit)
				defer cancel()
			}
			_, err = filter.Carry(ctx, &rules.Input{Farms: farms})
		})
		return err
	}
	o := &oracle{t: t, run: s.run, twin: s.Client, rules: map[string]string{}}
	both := [][]farm.Farm{l4test.Many(100), l4test.Many(150)}
	cut := 0
	for i := range 9 {
		before, after := both[i%2], both[(i+1)%2]
		if err := carry(0, before); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			filter = kernel.NewNftables(s.run, quiet) // a full build is cut, not a difference
		}
		if err := carry(time.Duration(4*i+2)*time.Millisecond, after); err != nil {
			cut++
		}
		was, _ := rules.Compile(&rules.Input{Farms: before})
		is, _ := rules.Compile(&rules.Input{Farms: after})
		if a, b := o.compare(s.Appliance, was), o.compare(s.Appliance, is); a != "" && b != "" {
			t.Fatalf("neither the old state (%s) nor the new (%s)", a, b)
		}
		if err := carry(0, after); err != nil {
			t.Fatal(err)
		}
		if diff := o.compare(s.Appliance, is); diff != "" {
			t.Fatalf("afterwards: %s", diff)
		}
	}
	t.Logf("%d of 9 were cut short", cut)
	if cut == 0 {
		t.Error("no transaction was cut short: nothing was shown")
	}
}
