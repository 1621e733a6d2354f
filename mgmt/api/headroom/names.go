package headroom

import (
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/rehearsal"
)

// play rehearses a group. Backends take over only from backends with the same TLS server
// names. mixed reports that some share only part of their names, so the destination of
// clients is unknown.
func play(g farm.Group, of []rehearsal.Backend) (rates []float64, refused float64, mixed bool) {
	rates = make([]float64, len(of))
	sets, mixed := setsOf(g.Backends())
	for _, set := range sets {
		part, some := g, of
		if len(sets) > 1 {
			part, some = only(g, of, set)
		}
		o := rehearsal.Play(part, some, uint64(g.ID()))
		for i, at := range set {
			rates[at] = o.Rates[i]
		}
		refused += o.Refused
	}
	return rates, refused, mixed
}

// setsOf groups the positions of backends by their names, in order.
func setsOf(list []farm.Backend) (sets [][]int, mixed bool) {
	at, names := map[string]int{}, map[string]string{}
	for i := range list {
		own := slices.Clone(list[i].ServerNames)
		for k := range own {
			own[k] = strings.ToLower(own[k])
		}
		slices.Sort(own)
		key := strings.Join(slices.Compact(own), " ")
		for _, name := range own {
			if other, taken := names[name]; taken && other != key {
				mixed = true
			}
			names[name] = key
		}
		set, there := at[key]
		if !there {
			set = len(sets)
			at[key], sets = set, append(sets, nil)
		}
		sets[set] = append(sets[set], i)
	}
	return sets, mixed
}

// only returns a group of some of its backends, on a copy of the farm.
func only(g farm.Group, of []rehearsal.Backend, set []int) (farm.Group, []rehearsal.Backend) {
	f := g.Farm.Clone()
	var list []farm.Backend
	var some []rehearsal.Backend
	for _, i := range set {
		list, some = append(list, g.Backends()[i]), append(some, of[i])
	}
	own := f.Own()
	own.SetBackends(list)
	return own, some
}
