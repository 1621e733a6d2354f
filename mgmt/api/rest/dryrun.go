package rest

import (
	"cmp"
	"net/http"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// dryRun is the query parameter of a dry run.
const dryRun = "dry_run"

// DryRun is the result of a dry run.
type DryRun struct {
	DryRun     string         `json:"dry_run" enum:"true"`
	Diff       string         `json:"diff" doc:"Unified diff of the documents; empty if the configuration does not change. For a replaced certificate, the diff of its names"`
	Deletions  []DeletionItem `json:"deletions" doc:"Objects that would be deleted, without the objects they contain"`
	Impact     []ImpactItem   `json:"impact" doc:"Expected impact on traffic"`
	Warnings   []string       `json:"warnings" doc:"Settings that would be allowed but could not work"`
	Details    []WarningItem  `json:"warning_details" doc:"The same warnings in the same order, each with its object and field"`
	TakesOver  []string       `json:"takes_over,omitempty" doc:"Warnings about ports of this machine (e.g. of ssh or the API) that a farm takes over; they are unreachable while the farm runs"`
	NeedsForce string         `json:"needs_force,omitempty" enum:"true" doc:"The change is rejected unless sent with force=true, which accepts the warnings"`
}

// WarningItem is a warning with the object it is about.
type WarningItem struct {
	Object  string `json:"object,omitempty" doc:"Object, as named in errors; absent for the whole configuration"`
	Field   string `json:"field,omitempty" doc:"Field; absent for the whole object"`
	Message string `json:"message"`
}

// ImpactItem is the cost of a change for the traffic of one farm.
type ImpactItem struct {
	Farm     string     `json:"farm"`
	Cost     field.Cost `json:"cost" enum:"connections,restart,traffic,cut" doc:"connections: applies only to new connections; restart: the listener restarts and clients must reconnect; traffic: affects all traffic of the farm; cut: closes connections and sessions of backends"`
	Fields   []string   `json:"fields" doc:"Fields whose change has this impact"`
	Backends []string   `json:"backends,omitempty" doc:"Backends whose connections are closed"`
	Carried
}

// DeletionItem is an object that a change deletes, and its current traffic.
type DeletionItem struct {
	Kind string `json:"kind" enum:"farm,service,backend,zone,records,check,alias"`
	Name string `json:"name" doc:"Name, including the farm it belongs to"`
	Carried
}

// Carried is the current traffic of a farm or backend; zero if unknown.
type Carried struct {
	Connections uint64  `json:"connections,omitempty" doc:"Open connections; for a backend, requests in flight"`
	Rate        float64 `json:"requests_per_second,omitempty" doc:"Requests per second now; for an l4xnat farm, connections"`
}

// noLoad is a Load without data.
type noLoad struct{}

// FarmLoad and BackendLoad implement Load.
func (noLoad) FarmLoad(*farm.Farm) Carried { return Carried{} }

// BackendLoad returns no load.
func (noLoad) BackendLoad(*farm.Farm, []uint32) Carried { return Carried{} }

// Load returns the current traffic of farms and backends.
type Load interface {
	FarmLoad(f *farm.Farm) Carried
	BackendLoad(f *farm.Farm, ids []uint32) Carried
}

// Preview is the part of a dry run's result that the configuration does not show.
type Preview struct {
	Diff     string
	Warnings []string
	// NeedsForce: the change is refused unless it is forced.
	NeedsForce bool
}

// Shows sets the preview of the call. It rejects a change that needs force, unless it is
// forced or a dry run.
func (c *Call) Shows(p Preview, reason string) error {
	c.preview = &p
	forced, err := c.Flag(forceQuery)
	switch {
	case err != nil:
		return err
	case p.NeedsForce && !forced && !c.onlyTries():
		return &Rejection{Status: http.StatusConflict, Code: CodeForce, Message: reason + " (--yes, or force=true in the API, does it nevertheless)"}
	}
	return nil
}

// onlyTried returns the response to a dry run. It is a Rejection because nothing was done,
// but with status 200.
func (c *Call) onlyTried() *Rejection {
	out := DryRun{DryRun: "true", Diff: c.tried.Diff, Deletions: []DeletionItem{}, Impact: []ImpactItem{}, Warnings: []string{}, Details: []WarningItem{}}
	if next := c.tried.Config; next != nil && !c.tried.Unchanged {
		out.Deletions, out.Impact = c.Costs(cmp.Or(c.tried.Before, c.Config), next, true)
		out.Diff = c.DiffOf(c.tried)
	}
	for _, w := range c.raised() {
		out.Warnings = append(out.Warnings, c.Discreet(w.Error()))
		out.Details = append(out.Details, WarningItem{w.Path, w.Field, c.Discreet(w.Message)})
	}
	out.TakesOver = c.TakesOver(c.tried)
	header := http.Header{}
	if c.op.about == nil { // the shown revision can be made a condition of the change
		header.Set("ETag", etag(c.Revision))
	}
	if p := c.preview; p != nil {
		out.Diff, out.Warnings = p.Diff, append(out.Warnings, p.Warnings...)
		for _, text := range p.Warnings {
			out.Details = append(out.Details, WarningItem{Message: text})
		}
		if p.NeedsForce {
			out.NeedsForce = "true"
		}
	}
	return &Rejection{Status: http.StatusOK, Description: c.op.Summary, Header: header,
		answer: Object[DryRun]{Description: c.op.Summary, Params: out, Message: "Only tried: nothing was changed."}}
}

// raised returns the warnings that a tried change causes, and those about farms that it
// changes. Warnings of other farms exist without it.
func (c *Call) raised() (out []field.Error) {
	same := map[string]bool{}
	if next := c.tried.Config; next != nil {
		for i := range next.Farms {
			f := &next.Farms[i]
			if was := c.Config.Farm(f.Name); was != nil && was.Same(f) {
				same[profile.FarmPath(f.Name)] = true
			}
		}
	}
	for _, w := range c.tried.Warnings {
		if c.concerns(w.Path) && !same[profile.FarmOf(w.Path)] {
			out = append(out, w)
		}
	}
	return out
}

// TakesOver returns the warnings about ports of this machine that farms take over by a
// change, of the farms that the caller sees.
func (c *Call) TakesOver(by apply.Result) (out []string) {
	for _, w := range by.Takeovers {
		if c.concerns(w.Path) {
			out = append(out, c.Discreet(w.Error()))
		}
	}
	return out
}

// Costs lists the deletions and the traffic cost of a change, as far as the caller may see
// them. Current traffic is added only if before is true.
func (c *Call) Costs(from, to *farm.Config, before bool) ([]DeletionItem, []ImpactItem) {
	deletions, impacts := []DeletionItem{}, []ImpactItem{}
	var load Load = noLoad{}
	if before && c.host.Load != nil {
		load = c.host.Load(c)
	}
	for _, d := range validate.Deletions(from, to) {
		if c.maySeeDeleted(from, &d) {
			deletions = append(deletions, DeletionItem{d.Kind, d.Name, c.carriedOf(load, &d)})
		}
	}
	for _, i := range validate.Impacts(from, to) {
		f := from.Farm(i.Farm)
		if f != nil && !c.mayFarm(f.ID) {
			continue
		}
		item := ImpactItem{Farm: i.Farm, Cost: i.Cost, Fields: append([]string{}, i.Fields...), Backends: i.Backends}
		if f != nil {
			item.Carried = load.FarmLoad(f)
		}
		impacts = append(impacts, item)
	}
	return deletions, impacts
}

func (c *Call) maySeeDeleted(from *farm.Config, d *validate.Deletion) bool {
	switch {
	case d.Farm != nil:
		return c.mayFarm(d.Farm.ID)
	case d.Kind == validate.DeletedCheck:
		return c.ListsCheck(from, d.Name)
	}
	return c.SeesAll()
}

func (c *Call) carriedOf(load Load, d *validate.Deletion) Carried {
	switch {
	case d.Kind == validate.DeletedFarm:
		return load.FarmLoad(d.Farm)
	case len(d.Backends) > 0:
		return load.BackendLoad(d.Farm, d.Backends)
	}
	return Carried{}
}
