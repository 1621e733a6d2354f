package rest

import (
	"net/http"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// dryRun is the query parameter of a change that is only tried.
const dryRun = "dry_run"

// DryRun is what a change would do that was only tried.
type DryRun struct {
	DryRun   string       `json:"dry_run" enum:"true"`
	Diff     string       `json:"diff" doc:"Unified difference of the documents; blank when the configuration stays as it is"`
	Impact   []ImpactItem `json:"impact" doc:"What it would cost traffic"`
	Warnings []string     `json:"warnings" doc:"What would be allowed but could not work"`
}

// ImpactItem is what a change costs the traffic of one farm.
type ImpactItem struct {
	Farm     string        `json:"farm"`
	Cost     validate.Cost `json:"cost" enum:"connections,restart,traffic,cut" doc:"connections: new ones only have it; restart: the farm opens at another place, and clients come anew; traffic: all that the farm carries; cut: the connections and sessions of backends"`
	Fields   []string      `json:"fields" doc:"Fields whose change costs it"`
	Backends []string      `json:"backends,omitempty" doc:"Backends whose connections end"`
}

// onlyTried is the answer to a change that was only tried: it is an answer like a
// rejection, because nothing was done, but a good one.
func (c *Call) onlyTried() *Rejection {
	out := DryRun{DryRun: "true", Diff: c.tried.Diff, Impact: []ImpactItem{}, Warnings: []string{}}
	if next := c.tried.Config; next != nil && !c.tried.Unchanged {
		out.Impact = c.impactItems(next)
		if !c.SeesAll() || c.Veil() != (validate.Veil{}) {
			out.Diff = c.difference(c.Config, next)
		}
	}
	for i := range c.tried.Warnings {
		if c.concerns(c.tried.Warnings[i].Path) {
			out.Warnings = append(out.Warnings, c.Discreet(c.tried.Warnings[i].Error()))
		}
	}
	return &Rejection{Status: http.StatusOK, Description: c.op.Summary,
		answer: Object[DryRun]{Description: c.op.Summary, Params: out, Message: "Only tried: nothing was changed."}}
}

// concerns reports whether a warning is about what the caller sees.
func (c *Call) concerns(path string) bool { return c.Discreet(path) == path }

func (c *Call) impactItems(to *farm.Config) []ImpactItem {
	out := []ImpactItem{}
	for _, i := range validate.Impacts(c.Config, to) {
		if f := c.Config.Farm(i.Farm); f != nil && !c.mayFarm(f.ID) {
			continue
		}
		out = append(out, ImpactItem{i.Farm, i.Cost, append([]string{}, i.Fields...), i.Backends})
	}
	return out
}
