package nftables_test

import (
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/neigh"
)

// withoutNetdev is the script of an nft on a kernel without the family netdev. It appends the
// transactions that the kernel accepts to a file. odd is a file whose removal makes the next
// transaction fail for no known reason.
func withoutNetdev(accepted, odd string) string {
	return `case "$*" in *-f*)
	in=$(cat)
	n=$(echo "$in" | grep -n "add table netdev" | head -n 1 | cut -d : -f 1)
	[ -z "$n" ] || { echo "x:$n:1-9: Error: Could not process rule: Operation not supported" >&2; exit 1; }
	case "$in" in *sluice-probe*) exit 0;; esac
	[ -e ` + odd + ` ] || { : >` + odd + `; echo "no memory" >&2; exit 1; }
	echo "$in" >>` + accepted + `; exit 0;;
esac`
}

func TestMissingNetdevKeepsTheOtherFarms(t *testing.T) {
	wire := hops{}
	for i, a := range []string{"10.0.0.1", "10.0.0.2"} {
		addr := netip.MustParseAddr(a)
		mac, own := neigh.MAC{2, 0, 0, 0, 0, byte(i + 1)}, neigh.MAC{2, 0, 0, 0, 1, 1}
		wire[addr] = neigh.NextHop{Addr: addr, MAC: mac, Interface: "front", Own: own}
	}
	numbered := func(id uint32, edit func(f *farm.Farm)) farm.Farm {
		return l4test.Example(func(f *farm.Farm) {
			f.ID, f.L4.ID, f.L4.Ports = id, id, []farm.PortRange{{First: uint16(80 + id), Last: uint16(80 + id)}}
			for i := range f.L4.Backends {
				f.L4.Backends[i].ID = 10*id + uint32(i)
			}
			edit(f)
		})
	}
	nat := numbered(1, func(*farm.Farm) {})
	direct := numbered(2, func(f *farm.Farm) { f.L4.NAT = farm.NATDirect })
	stopped := numbered(3, func(f *farm.Farm) {
		f.L4.NAT, f.L4.Persist, f.L4.TTL, f.Stopped = farm.NATStateless, farm.L4PersistSrc, 60, true
	})
	for name, c := range map[string]struct {
		farms   []farm.Farm
		refused []uint32
		odd     bool
	}{
		"all":                                {[]farm.Farm{nat, direct, stopped}, []uint32{2}, false},
		"a stopped one":                      {[]farm.Farm{nat, stopped}, nil, false},
		"a failure, then all is built anew":  {[]farm.Farm{nat}, nil, true},
		"the same, with one of packet modes": {[]farm.Farm{direct, nat}, []uint32{2}, true},
	} {
		t.Run(name, func(t *testing.T) {
			filter, fails := scripted(t)
			accepted, odd := filepath.Join(t.TempDir(), "accepted"), filepath.Join(t.TempDir(), "odd")
			if !c.odd {
				if err := os.WriteFile(odd, nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			fails(withoutNetdev(accepted, odd))
			in := &rules.Input{Farms: c.farms, Wire: wire, Flushed: map[uint32]bool{2: true, 3: true}}
			for range 2 {
				problems, err := filter.Carry(t.Context(), in)
				if err != nil || !slices.Equal(slices.Sorted(maps.Keys(problems)), c.refused) {
					t.Fatalf("problems %v, %v", problems, err)
				}
				for _, id := range c.refused {
					if !strings.Contains(problems[id], "lacks the family netdev") {
						t.Errorf("farm %d: %s", id, problems[id])
					}
				}
				if problems := filter.Check(t.Context(), in); !slices.Equal(slices.Sorted(maps.Keys(problems)), c.refused) {
					t.Errorf("checked: %v", problems)
				}
			}
			loaded, err := os.ReadFile(accepted)
			if err != nil || !strings.Contains(string(loaded), "farm1") {
				t.Errorf("loaded: %s, %v", loaded, err)
			}
			for i := range c.farms {
				if f := &c.farms[i]; f.ID != nat.ID && !strings.Contains(string(loaded), "midstream") {
					t.Errorf("nothing is recorded of farm %d:\n%s", f.ID, loaded)
				}
			}
		})
	}
}
