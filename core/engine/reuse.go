package engine

import "github.com/sluicelb/sluice/core/farm"

// Changed reports whether cfg has other farms of a kind than the list before. An engine can
// use its current table for cfg if it has the same farms, whatever happens to other farms.
func Changed(cfg *farm.Config, before []farm.Farm, is func(*farm.Farm) bool) bool {
	at := cfg.AlignedWith(before)
	for i, k := range at {
		if k < 0 && is(&cfg.Farms[i]) {
			return true
		}
	}
	for _, k := range farm.Gone(before, at) {
		if is(&before[k]) {
			return true
		}
	}
	return false
}

// NoChanges returns the difference of a table that has the farms of the one in use.
func NoChanges() *Changes { return &Changes{Came: map[uint32][]farm.Listener{}} }
