package snapshot

import "github.com/sluicelb/sluice/core/farm"

// census holds the IDs of the last checked configuration, so that only new farms of the
// next one are checked. The zero census holds none.
type census struct {
	farms   []*entry
	numbers *checker // nil: the next check looks at all farms
}

// check runs Check on cfg, whose farms are the entries next.
func (c *census) check(cfg *farm.Config, next []*entry) error {
	numbers := c.numbers
	went, came := between(c.farms, next)
	if *c = (census{}); numbers == nil {
		numbers, went, came = newChecker(), nil, next
	}
	for _, e := range went {
		numbers.release(e.farm.ID, e.numbers)
	}
	for _, e := range came {
		if e.numbers == nil {
			if numbers.farm(&e.farm); len(numbers.problems) > 0 {
				return Check(cfg) // finds all problems
			}
			e.numbers = numbersOf(&e.farm)
		} else if !numbers.take(e.farm.ID, e.numbers) {
			return Check(cfg) // names the other user of the ID
		}
	}
	*c = census{next, numbers}
	return nil
}
