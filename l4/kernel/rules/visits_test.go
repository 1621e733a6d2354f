package rules_test

import (
	"fmt"
	"net/netip"
	"regexp"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/neigh"
	"github.com/sluicelb/sluice/sysnet/nft"
)

var (
	jumps = regexp.MustCompile(`(?:goto|jump) (\w+)`)
	vmaps = regexp.MustCompile(`vmap @(\w+)`)
)

// visits returns the number of rules that the kernel visits whenever rules change. From every
// base chain it follows each jump and each element of a verdict map, and visits a chain as often
// as it gets there (nft_table_validate).
func visits(set *nft.Ruleset) int {
	known := map[nft.ID]int{}
	var below func(id nft.ID) int
	below = func(id nft.ID) (n int) {
		if n, done := known[id]; done {
			return n
		}
		to := func(text string) {
			for _, m := range jumps.FindAllStringSubmatch(text, -1) {
				n += below(nft.ID{Table: id.Table, Name: m[1]})
			}
		}
		for _, rule := range set.Chains[id].Rules {
			n++
			to(rule)
			if m := vmaps.FindStringSubmatch(rule); m != nil {
				for _, e := range set.Sets[nft.ID{Table: id.Table, Name: m[1]}].Elements {
					to(e.Value)
				}
			}
		}
		known[id] = n
		return n
	}
	all := 0
	for id, c := range set.Chains {
		if c.Hook != "" {
			all += below(id)
		}
	}
	return all
}

// everywhere is a wire on which each address is a neighbour.
type everywhere struct{}

func (everywhere) Devices(netip.Addr) []string { return []string{"front"} }

func (everywhere) NextHop(addr netip.Addr) (neigh.NextHop, bool) {
	return neigh.NextHop{Addr: addr, MAC: neigh.MAC{2, 0, 0, 0, 0, 1}, Interface: "back", Own: neigh.MAC{2, 0, 0, 0, 0, 2}}, true
}

// The kernel visits the rules of a farm as often among many farms as among few.
func TestTheKernelVisitsTheRulesOfAFarmInConstantTime(t *testing.T) {
	for _, nat := range farm.NATTypes() {
		for name, edit := range map[string]func(f *farm.Farm){
			"plain":     func(*farm.Farm) {},
			"all ports": func(f *farm.Farm) { f.L4.Protocol, f.L4.Ports = farm.L4All, nil },
			"ranges":    func(f *farm.Farm) { f.L4.Ports = append(f.L4.Ports, farm.PortRange{First: 8000, Last: 8010}) },
			"sessions": func(f *farm.Farm) {
				f.L4.Persist, f.L4.TTL = farm.L4PersistSrc, 60
				f.L4.Backends[0].Sessions = []string{"198.51.100.1"}
			},
			"limits": func(f *farm.Farm) {
				f.L4.Backends[0].ConnLimit, f.L4.Backends[1].ConnLimit, f.L4.MaxConnections = 10, 20, 100
			},
			"priority":   func(f *farm.Farm) { f.L4.Algorithm, f.L4.Backends[0].ConnLimit = farm.L4Priority, 10 },
			"a failure":  func(f *farm.Farm) { f.L4.Backends[1].Priority = 1 },
			"leastconn":  func(f *farm.Farm) { f.L4.Algorithm = farm.L4LeastConn },
			"hash, logs": func(f *farm.Farm) { f.L4.Algorithm, f.L4.Logs = farm.L4HashFlow, true },
		} {
			t.Run(fmt.Sprintf("%s, %s", nat, name), func(t *testing.T) {
				of := func(n int) int {
					farms := l4test.Many(n)
					for i := range farms {
						farms[i].L4.NAT = nat
						edit(&farms[i])
					}
					down := func(backend uint32) bool { return backend%10 != 3 }
					set, problems := rules.Compile(&rules.Input{Farms: farms, Wire: everywhere{}, Usable: down})
					if len(problems) > 0 {
						t.Fatal(problems)
					}
					return visits(set)
				}
				few, many, most := of(10), of(20), of(30)
				if most-many != many-few || few == 0 {
					t.Errorf("10 farms: %d visits, 20: %d, 30: %d", few, many, most)
				}
			})
		}
	}
}
