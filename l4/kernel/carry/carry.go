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

// Most repeats try without the refused farms until it succeeds. It returns the reasons of
// all farms that are left out. The argument try returns the farms whose rules the kernel
// refused, with the reasons, or none if they are unknown.
func Most(in *rules.Input, log *slog.Logger, try func(left *rules.Input) (problems, refused map[uint32]string, err error)) (map[uint32]string, error) {
	left, reasons := able(in)
	for round := 0; ; round++ {
		problems, refused, err := try(&left)
		if err == nil {
			maps.Copy(problems, reasons)
			return problems, nil
		}
		left.Farms = slices.Clone(left.Farms)
		before := len(left.Farms)
		left.Farms = slices.DeleteFunc(left.Farms, func(f farm.Farm) bool { return refused[f.ID] != "" })
		if len(left.Farms) == before || round == maxRefused {
			return nil, err
		}
		for id, reason := range refused {
			reasons[id] = "the kernel refuses its rules: " + reason
			log.Warn("rules refused", "farm", id, "reason", reason)
		}
	}
}
