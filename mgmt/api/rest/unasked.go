package rest

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

const (
	// firstProbes bounds the wait for the first results after checks are linked, to report
	// those that cannot run. firstLook is the polling interval.
	firstProbes = 500 * time.Millisecond
	firstLook   = 20 * time.Millisecond
)

// linked is a group with a check that a change has linked, or whose command it has changed.
type linked struct {
	farm.Group
	path string // of warnings about it
}

// linkedBy returns the groups whose backends a change from before to after lets a check
// probe for the first time, again after a stop of the farm, or with another command. Unless
// checks changed, it looks at changed farms only.
func linkedBy(before, after *farm.Config) []linked {
	if !slices.Equal(before.Checks, after.Checks) {
		return linkedIn(before, after, before.Farms, after.Farms)
	}
	was, is := farm.Apart(before.Farms, after.Farms)
	return linkedIn(before, after, was, is)
}

// linkedIn is linkedBy for some farms of the configurations.
func linkedIn(before, after *farm.Config, was, is []farm.Farm) (out []linked) {
	type key struct {
		farm  uint32
		group string
	}
	checks, commands, stopped := map[key]string{}, map[string]string{}, map[uint32]bool{}
	for i := range was {
		stopped[was[i].ID] = was[i].Stopped
		for _, g := range was[i].Groups() {
			checks[key{g.Farm.ID, g.Name()}] = g.CheckedBy()
		}
	}
	for i := range before.Checks {
		commands[before.Checks[i].Name] = before.Checks[i].Command
	}
	for i := range is {
		f := &is[i]
		for _, g := range f.Groups() {
			name := g.CheckedBy()
			if name == "" || f.Stopped {
				continue
			}
			was, there := checks[key{f.ID, g.Name()}]
			now, _ := check.Named(after, name)
			command, known := commands[name]
			switch {
			case before.Farm(f.Name) == nil || stopped[f.ID]:
				out = append(out, linked{g, profile.FarmPath(f.Name)})
			case !there || was != name:
				out = append(out, linked{g, profile.LinkPath(g)})
			case known && command != now.Command:
				out = append(out, linked{g, check.Path(name)})
			}
		}
	}
	return out
}

// unasked returns a warning for each group whose newly linked check cannot probe its
// backends, e.g. because this machine permits no ICMP. It waits up to firstProbes for the
// first results. Writes of a transaction leave it to the transaction.
func (c *Call) unasked(before, after *farm.Config) (out []field.Error) {
	if c.host.Unasked == nil || apply.DraftOf(c.Context) != nil || before == after {
		return nil
	}
	deadline := time.Now().Add(firstProbes)
	for _, l := range linkedBy(before, after) {
		if why := c.cannotAsk(l.Group, deadline); why != "" {
			out = append(out, field.Error{Path: l.path, Field: "farmguardian", Message: why})
		}
	}
	return out
}

// cannotAsk explains why the check of a group cannot probe its backends. It returns "" if
// it can, or if no result arrives before the deadline.
func (c *Call) cannotAsk(g farm.Group, deadline time.Time) string {
	for ; ; time.Sleep(firstLook) {
		waits := false
		for _, b := range g.Backends() {
			why, later := c.host.Unasked(b.ID, g.CheckedBy(), c.begun)
			if why != "" {
				return fmt.Sprintf("the check %s cannot ask backend %s: %s", g.CheckedBy(), b.ShownAddress(), why)
			}
			waits = waits || later
		}
		if !waits || time.Now().After(deadline) || c.Context.Err() != nil {
			return ""
		}
	}
}
