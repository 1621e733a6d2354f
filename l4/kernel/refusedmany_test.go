package kernel_test

import (
	"context"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// A kernel without the helper of a protocol refuses the farms of that protocol,
// however many, and carries the others.
func TestManyFarmsTheKernelRefusesAreNobodyElsesProblem(t *testing.T) {
	s := newSite(t, 1)
	quiet := slog.New(slog.DiscardHandler)
	s.keeper = kernel.New(kernel.Options{Filter: kernel.NewNftables(without(t, "sane_tcp"), quiet), Log: quiet})
	var farms []farm.Farm
	for i := range uint32(60) {
		farms = append(farms, s.l4(i+1, farm.L4SANE, farm.NATMasquerade, false, uint16(1000+i)))
	}
	farms = append(farms, s.l4(100, farm.L4TCP, farm.NATMasquerade, false, 80))
	var problems map[uint32]string
	s.in(func(ctx context.Context) {
		problems = s.keeper.Apply(ctx, 1, &farm.Config{Farms: farms})
	})
	if len(problems) != 60 || problems[100] != "" {
		t.Errorf("%d problems, that of the good farm: %q", len(problems), problems[100])
	}
	for id, p := range problems {
		if !strings.Contains(p, "the kernel refuses its rules") {
			t.Errorf("farm %d: %s", id, p)
		}
	}
	if got := s.ask("tcp", netip.Addr{}, s.vip4+":80"); got.Server != "b1" {
		t.Errorf("%+v", got)
	}
}

// without is the nft of a kernel that has no object of that name, and refuses
// each line about it as kernels do.
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
