package kernel_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// many makes n farms of ten backends each.
func many(n int) []farm.Farm {
	out := make([]farm.Farm, n)
	for i := range out {
		l := farm.DefaultL4()
		l.ID, l.DataPath, l.Ports = uint32(i+1), farm.DataPathKernel, []farm.PortRange{{First: 80, Last: 80}}
		for j := range 10 {
			addr := netip.AddrFrom4([4]byte{10, byte(100 + i/250), byte(i % 250), byte(j + 1)})
			l.Backends = append(l.Backends, farm.Backend{ID: uint32(i*10 + j + 1), Host: addr.String(), Addr: addr, Port: 8080})
		}
		out[i] = farm.Farm{ID: uint32(i + 1), Name: fmt.Sprintf("f%d", i), Profile: farm.ProfileL4, L4: l,
			VIP: netip.AddrFrom4([4]byte{10, 200, byte(i / 250), byte(i % 250)})}
	}
	return out
}

// What an edit costs is what it changes, however many farms there are. Times
// are only shown: with two CPUs 0.4 s to load, 70 ms for an edit.
func TestAnEditOfOneInAThousandFarmsConcernsItAlone(t *testing.T) {
	farms := many(1000)
	have, _ := rules.Compile(&rules.Input{Farms: farms})
	farms[500].L4.Backends[3].Weight = 5
	want, _ := rules.Compile(&rules.Input{Farms: farms})
	batch, ok := nft.Diff(have, want)
	if !ok || batch.Empty() {
		t.Fatalf("loaded anew: %v, nothing to do: %v", !ok, batch.Empty())
	}
	lines := strings.Split(strings.TrimSpace(batch.Text()), "\n")
	if len(lines) > 20 {
		t.Errorf("%d lines for one backend:\n%s", len(lines), batch.Text())
	}
	for i := range lines {
		if owner := batch.Owner(i + 1); owner != farms[500].ID {
			t.Errorf("a line of farm %d: %s", owner, lines[i])
		}
	}
}

func TestAThousandFarmsAreLoadedEditedAndServed(t *testing.T) {
	s := newSite(t, 1)
	farms := many(1000)
	began := time.Now()
	s.apply(farms...)
	t.Logf("loaded in %v", time.Since(began))
	for i := range 5 {
		farms[500+i].L4.Backends[3].Weight = 5
		began := time.Now()
		s.apply(farms...)
		t.Logf("edited in %v", time.Since(began))
	}
	s.renew()
	began = time.Now()
	s.apply(farms...)
	t.Logf("rebuilt with all counters in %v", time.Since(began))
	f := s.l4(2000, farm.L4TCP, farm.NATMasquerade, false, 80)
	s.apply(append(farms, f)...)
	if got := s.ask("tcp", netip.Addr{}, s.vip4+":80"); got.Server != "b1" {
		t.Errorf("%+v", got)
	}
}

func BenchmarkCompileThousandFarms(b *testing.B) {
	in := &rules.Input{Farms: many(1000)}
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := rules.Compile(in); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}
