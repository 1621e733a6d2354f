package rules

import (
	"github.com/sluicelb/sluice/core/farm"
)

// midway refuses what is of a TCP connection but does not begin it.
const midway = "tcp flags & syn == 0 goto refuse"

// midway is the rule for farms that refuse such packets now.
func (c *compiler) midway(f *farm.Farm) []string {
	if !c.in.Ended[f.ID] {
		return nil
	}
	return []string{midway}
}
