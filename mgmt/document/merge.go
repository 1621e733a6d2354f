package document

import (
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// Merge returns old with a part replaced. Farms and checks of part replace old ones with the
// same name, others stay, and new ones are appended. The settings of the machine are replaced
// as a whole if part has them. The arguments are not modified.
func Merge(old, part *farm.Config) *farm.Config {
	out, part := old.Clone(), part.Clone()
	out.Farms = merged(out.Farms, part.Farms, func(f *farm.Farm) string { return f.Name })
	out.Checks = merged(out.Checks, part.Checks, func(c *farm.Check) string { return c.Name })
	if !part.SystemUnsaid {
		out.System = part.System
	}
	return out
}

// merged replaces items of list by items of part with the same name, and appends the others. A
// name that occurs twice in part also occurs twice in the result, so that the rules refuse it.
func merged[T any](list, part []T, name func(*T) string) []T {
	free := make(map[string]int, len(list))
	for i := range list {
		free[name(&list[i])] = i
	}
	out := slices.Clone(list)
	for i := range part {
		n := name(&part[i])
		if at, is := free[n]; is {
			out[at] = part[i]
			delete(free, n)
		} else {
			out = append(out, part[i])
		}
	}
	return out
}
