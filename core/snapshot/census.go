package snapshot

import "github.com/sluicelb/sluice/core/farm"

// census is the numbers that the farms of the configuration have that was checked last, so
// that of the next one only farms that came are looked at. The zero census has none.
type census struct {
	farms   []*entry
	numbers *checker // nil: the next check looks at all farms
}

// check is Check of cfg, whose farms next holds.
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
				return Check(cfg) // which finds all of them
			}
			e.numbers = numbersOf(&e.farm)
		} else if !numbers.take(e.farm.ID, e.numbers) {
			return Check(cfg) // which says whose they are
		}
	}
	*c = census{next, numbers}
	return nil
}
