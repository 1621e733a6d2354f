package carry

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestMissingModulesAreNamed(t *testing.T) {
	f := &farm.Farm{L4: farm.DefaultL4()}
	f.L4.Protocol = farm.L4FTP
	m := modules{there: map[string]bool{"nf_conntrack_ftp": true}, known: true}
	if got := m.lacks(f); !strings.Contains(got, "modprobe nf_nat_ftp") {
		t.Errorf("lacks %q", got)
	}
	m.there["nf_nat_ftp"] = true
	if got := m.lacks(f); got != "" {
		t.Errorf("lacks %q", got)
	}
	if got := (modules{}).lacks(f); got != "" {
		t.Errorf("a kernel with unknown modules lacks %q", got)
	}
	f.L4.Protocol = farm.L4SANE // no addresses in it are rewritten
	if got := (modules{known: true}).lacks(f); got != "" {
		t.Errorf("lacks %q", got)
	}
}
