package nftables_test

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/nftables"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/nft"
)

func TestRefusedFarmDoesNotAffectOthers(t *testing.T) {
	s := l4test.NewSite(t, 1)
	good := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	s.Apply(good)
	before := s.Ruleset()
	bad := s.Farm(2, farm.L4TCP, farm.NATMasquerade, true, 81)
	bad.L4.Backends[0].Addr = bad.L4.Backends[0].Addr.WithZone("eth0")
	clash := s.Farm(3, farm.L4TCP, farm.NATTarget, false, 80) // the same as good
	var problems map[uint32]string
	s.In(func(ctx context.Context) {
		problems = s.Reconciler.Apply(ctx, 9, &farm.Config{Farms: []farm.Farm{good, bad, clash}})
	})
	if len(problems) != 2 || !strings.Contains(problems[2], "zone") || !strings.Contains(problems[3], "taken") {
		t.Errorf("problems: %v", problems)
	}
	if after := s.Ruleset(); after != before {
		t.Errorf("the rules changed:\n%s\n%s", before, after)
	}
	if got := s.Ask("tcp", netip.Addr{}, s.VIP4+":80"); got.Server != "b1" {
		t.Errorf("%+v", got)
	}
}

func TestInterruptedTransactionIsAtomicAndRetried(t *testing.T) {
	s := l4test.NewSite(t, 0)
	filter := nftables.New(s.NFT, l4test.Quiet)
	carry := func(limit time.Duration, farms []farm.Farm) (err error) {
		s.In(func(ctx context.Context) {
			if limit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, limit)
				defer cancel()
			}
			_, err = filter.Carry(ctx, &rules.Input{Farms: farms})
		})
		return err
	}
	o := &oracle{t: t, run: s.NFT, twin: s.Client, rules: map[string]string{}}
	both := [][]farm.Farm{l4test.Many(100), l4test.Many(150)}
	cut := 0
	for i := range 9 {
		before, after := both[i%2], both[(i+1)%2]
		if err := carry(0, before); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			filter = nftables.New(s.NFT, l4test.Quiet) // a full build is tried, not a difference
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
			t.Fatalf("afterwards: got %s, want \"\"", diff)
		}
	}
	t.Logf("%d of 9 were cut short", cut)
	if cut == 0 {
		t.Error("no transaction was truncated: the test would check too little")
	}
}

// A kernel without a protocol's helper refuses all farms of that protocol and carries the
// others.
func TestManyRefusedFarmsDoNotAffectOthers(t *testing.T) {
	s := l4test.NewSite(t, 1)
	s.Use(nftables.New(without(t, "sane_tcp"), l4test.Quiet))
	var farms []farm.Farm
	for i := range uint32(60) {
		farms = append(farms, s.Farm(i+1, farm.L4SANE, farm.NATMasquerade, false, uint16(1000+i)))
	}
	farms = append(farms, s.Farm(100, farm.L4TCP, farm.NATMasquerade, false, 80))
	var problems map[uint32]string
	s.In(func(ctx context.Context) {
		problems = s.Reconciler.Apply(ctx, 1, &farm.Config{Farms: farms})
	})
	if len(problems) != 60 || problems[100] != "" {
		t.Errorf("%d problems, that of the good farm: %q", len(problems), problems[100])
	}
	for id, p := range problems {
		if !strings.Contains(p, "the kernel refuses its rules") {
			t.Errorf("farm %d: %s", id, p)
		}
	}
	if got := s.Ask("tcp", netip.Addr{}, s.VIP4+":80"); got.Server != "b1" {
		t.Errorf("%+v", got)
	}
}

// without returns the nft of a kernel that lacks an object of that name and refuses each
// line with it, as kernels do.
func without(t *testing.T, object string) *nft.Runner {
	t.Helper()
	const script = `#!/bin/sh
in=$(mktemp) && cat > "$in"
if grep -q OBJECT "$in"; then
	grep -n OBJECT "$in" | sed 's/:.*//; s|.*|/dev/stdin:&:1-9: Error: Could not process rule: No such file or directory|' >&2
	rm "$in"
	exit 1
fi
nft "$@" < "$in"
status=$?
rm "$in"
exit $status
`
	path := filepath.Join(t.TempDir(), "nft")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(script, "OBJECT", object)), 0o755); err != nil {
		t.Fatal(err)
	}
	return nft.At(path)
}

func TestCheckReportsRefusalsWithoutChanges(t *testing.T) {
	s := l4test.NewSite(t, 1)
	good := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	s.Apply(good)
	before := s.Appliance.Run("nft", "list", "ruleset")
	check := func(farms ...farm.Farm) (problems map[uint32]string) {
		s.Appliance.Do(func() { problems = s.Reconciler.Check(context.Background(), &farm.Config{Farms: farms}) })
		return problems
	}
	same := s.Farm(2, farm.L4TCP, farm.NATTarget, false, 80)
	if p := check(good, same); len(p) != 1 || !strings.Contains(p[2], "taken") {
		t.Errorf("a second farm with the same address: %v", p)
	}
	other := s.Farm(2, farm.L4UDP, farm.NATTarget, true, 80)
	if p := check(good, other); len(p) != 0 {
		t.Errorf("a farm that can be carried: %v", p)
	}
	direct := s.Farm(3, farm.L4TCP, farm.NATDirect, false, 81)
	if p := check(direct); !strings.Contains(p[3], "neighbours") {
		t.Errorf("a farm that needs neighbours: %v", p)
	}
	if now := s.Appliance.Run("nft", "list", "ruleset"); now != before {
		t.Errorf("rules were\n%s\nand are\n%s", before, now)
	}
}
