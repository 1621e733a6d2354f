package carry

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
)

// A farm that lacks a module may be carried later: its ended connections are recorded.
func TestFarmsWithoutTheirModuleAreRecorded(t *testing.T) {
	farms := make([]farm.Farm, 3)
	for i := range farms {
		farms[i] = farm.Farm{ID: uint32(i + 1), L4: farm.DefaultL4()}
	}
	farms[0].L4.Protocol, farms[2].L4.Algorithm = farm.L4FTP, "wishes"
	left, lacking := able(&rules.Input{Farms: farms}, func() modules { return modules{known: true} })
	if len(lacking) != 2 || len(left.Farms) != 1 || left.Farms[0].ID != 2 ||
		len(left.Recorded) != 1 || left.Recorded[0].ID != 1 {
		t.Errorf("lacking %v, left %v, recorded %v", lacking, left.Farms, left.Recorded)
	}
}

func TestMissingModulesAreNamed(t *testing.T) {
	f := &farm.Farm{L4: farm.DefaultL4()}
	f.L4.Protocol = farm.L4FTP
	m := modules{there: map[string]bool{"nf_conntrack_ftp": true}, known: true}
	if got := m.lacks(f); !strings.Contains(got, "modprobe nf_nat_ftp") {
		t.Errorf("lacks %q", got)
	}
	m.there["nf_nat_ftp"] = true
	if got := m.lacks(f); got != "" {
		t.Errorf("lacks %q, want \"\"", got)
	}
	if got := (modules{}).lacks(f); got != "" {
		t.Errorf("a kernel with unknown modules lacks %q, want \"\"", got)
	}
	f.L4.Protocol = farm.L4SANE // no addresses in it are rewritten
	if got := (modules{known: true}).lacks(f); got != "" {
		t.Errorf("lacks %q, want \"\"", got)
	}
}
