package document

import (
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// Merge returns a configuration with a part of it replaced: farms and checks of the part
// take the place of those of the same name, others stay, and what is new comes last. The
// settings of the machine are replaced as a whole where the part has them. Neither is
// changed.
func Merge(old, part *farm.Config) *farm.Config {
	out, part := old.Clone(), part.Clone()
	out.Farms = merged(out.Farms, part.Farms, func(f *farm.Farm) string { return f.Name })
	out.Checks = merged(out.Checks, part.Checks, func(c *farm.Check) string { return c.Name })
	if !part.SystemUnsaid {
		out.System = part.System
	}
	return out
}

// merged puts each item of part in the place of the one of the same name, or at the end. A
// name that part has twice is twice in the result, so that the rules refuse it.
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
