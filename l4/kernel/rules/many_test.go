package rules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// The cost of an edit does not depend on the number of farms.
func TestAnEditOfOneInAThousandFarmsConcernsItAlone(t *testing.T) {
	farms := l4test.Many(1000)
	have, _ := rules.Compile(&rules.Input{Farms: farms})
	farms[500].L4.Backends[3].Weight = 5
	want, _ := rules.Compile(&rules.Input{Farms: farms})
	batch, ok := nft.Diff(have, want)
	if !ok || batch.Empty() {
		t.Fatalf("rebuilt: %v, empty transaction: %v", !ok, batch.Empty())
	}
	lines := strings.Split(strings.TrimSpace(batch.Text()), "\n")
	if len(lines) > 20 {
		t.Errorf("%d lines for one backend:\n%s", len(lines), batch.Text())
	}
	for i := range lines {
		seal := strings.Contains(lines[i], "set inet sluice seal") // it changes with every edit
		if owner := batch.Owner(i + 1); owner != farms[500].ID && !seal {
			t.Errorf("a line of farm %d: %s", owner, lines[i])
		}
	}
}

func BenchmarkCompileThousandFarms(b *testing.B) {
	in := &rules.Input{Farms: l4test.Many(1000)}
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := rules.Compile(in); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}

func BenchmarkCompileOneOfAThousandFarms(b *testing.B) {
	farms, l := l4test.Many(1000), *l4test.Many(501)[500].L4
	var c rules.Compiler
	have, _ := c.Compile(&rules.Input{Farms: farms})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		next := l
		next.Backends = slices.Clone(l.Backends)
		next.Backends[3].Weight = uint8(1 + i%9)
		farms = slices.Clone(farms)
		farms[500].L4 = &next
		want, problems := c.Compile(&rules.Input{Farms: farms})
		if _, ok := nft.DiffParts(have, want); !ok || len(problems) > 0 {
			b.Fatal(ok, problems)
		}
		have = want
	}
}
