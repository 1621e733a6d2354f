// Package carry makes a packet filter carry as many farms as possible. Farms whose kernel
// modules are missing, or whose rules the kernel refuses, are left out with a reason and do
// not affect others.
package carry

import (
	"log/slog"
	"maps"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
)

// maxRefused is how often the kernel may refuse farms before all are given up.
const maxRefused = 16

// Most repeats try without the refused farms until it succeeds. Of farms left out, only ended
// connections are recorded. It returns the reasons for all farms left out. The argument try
// returns the farms whose rules the kernel refused, with the reasons, or none if unknown.
func Most(in *rules.Input, log *slog.Logger, try func(left *rules.Input) (problems, refused map[uint32]string, err error)) (map[uint32]string, error) {
	left, reasons := able(in, findModules)
	for round := 0; ; round++ {
		problems, refused, err := try(&left)
		if err == nil {
			maps.Copy(problems, reasons)
			return problems, nil
		}
		if !leaveOut(&left, refused) || round == maxRefused {
			return nil, err
		}
		for id, reason := range refused {
			reasons[id] = "the kernel refuses its rules: " + reason
			log.Warn("rules refused", "farm", id, "reason", reason)
		}
	}
}

// leaveOut moves the refused farms to the recorded ones. Those that are refused even there are
// removed. It returns false if there are none.
func leaveOut(from *rules.Input, refused map[uint32]string) bool {
	is := func(f farm.Farm) bool { return refused[f.ID] != "" }
	farms, recorded := slices.DeleteFunc(slices.Clone(from.Farms), is), slices.DeleteFunc(slices.Clone(from.Recorded), is)
	if len(farms) == len(from.Farms) && len(recorded) == len(from.Recorded) {
		return false
	}
	for _, f := range from.Farms {
		if is(f) {
			recorded = append(recorded, f)
		}
	}
	from.Farms, from.Recorded = farms, recorded
	return true
}
