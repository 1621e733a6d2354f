package rest

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// Author returns the author for the history.
func (c *Call) Author() apply.Author {
	source := "api " + c.By.Source
	if auth.Local(c.Request) {
		source = "cli"
	}
	return apply.Author{Name: c.By.Name, Source: source}
}

// Expected returns the revision required by If-Match, 0 if any is accepted.
func (c *Call) Expected() (uint64, error) {
	m := readMatch(c.Request)
	if m.any {
		return 0, nil
	}
	if !m.of(strconv.FormatUint(c.Revision, 10)) && !c.isFarmAsBefore(m) && !c.isAsBefore(m) { // checked again under the write lock
		return 0, RejectionOf(apply.ErrConflict, true)
	}
	return c.Revision, nil
}

// farmUnchanged reports whether a configuration with another revision is what If-Match requires,
// because the farm in the path has not changed.
func (c *Call) farmUnchanged(cfg *farm.Config, revision uint64) bool {
	then := *c
	then.Config, then.Revision = cfg, revision
	return then.isFarmAsBefore(readMatch(c.Request))
}

// Act must be called just before a handler has an effect outside of the configuration. It
// ends dry runs and calls whose If-Match does not match. Coming last, it lets all other
// errors take precedence (RFC 9110 §13.2.1). Changes of the configuration and of
// certificates include this check.
func (c *Call) Act() error {
	if c.op.about == nil { // otherwise already checked (within)
		if _, err := c.Expected(); err != nil {
			return err
		}
	}
	if c.dry {
		return apply.ErrDryRun
	}
	c.acted = true
	return nil
}

// Dry reports whether the call is a dry run, for effects that end by themselves in one.
func (c *Call) Dry() bool { return c.dry }

// Book returns the permission book for the caller. Its changes persist only if the call may
// act, and are rejected if they exceed the caller's own rights.
func (c *Call) Book(of *rbac.Book) *rbac.Book {
	if !c.By.Who.Root() {
		of = of.On(rbac.Caller{Name: c.By.Who.Name(), Farms: slices.Collect(farmIDs(c.Config))})
	}
	if err := c.Act(); err != nil {
		return of.DryRun(err)
	}
	return of
}

// MayTake extends the deadlines of a request and of its connection.
func (c *Call) MayTake(d time.Duration) {
	control := http.NewResponseController(c.response)
	until := time.Now().Add(d)
	_ = control.SetReadDeadline(until) // unsupported by connections that belong to no server
	_ = control.SetWriteDeadline(until)
}

// Change edits the configuration through its only writer. edit gets a copy of the newest
// configuration and must look up its objects there.
func (c *Call) Change(comment string, edit func(*farm.Config) error) (apply.Result, error) {
	expect, err := c.Expected()
	if err != nil {
		return apply.Result{}, err
	}
	ctx := apply.AcceptRevision(c.Context, c.farmUnchanged)
	result, err := c.host.Applier.Change(ctx, c.Author(), comment, expect, edit)
	return c.Keep(result, err, expect)
}

// ChangeFarm is Change for one farm. edit must not change other farms.
func (c *Call) ChangeFarm(name, comment string, edit func(*farm.Config) error) (apply.Result, error) {
	expect, err := c.Expected()
	if err != nil {
		return apply.Result{}, err
	}
	ctx := apply.AcceptRevision(c.Context, c.farmUnchanged)
	result, err := c.host.Applier.ChangeFarm(ctx, c.Author(), comment, expect, name, edit)
	return c.Keep(result, err, expect)
}

// Keep stores the result of a change for the response.
func (c *Call) Keep(result apply.Result, err error, expect uint64) (apply.Result, error) {
	if errors.Is(err, apply.ErrDryRun) {
		c.tried = result
		return result, err
	}
	if err != nil {
		return result, RejectionOf(err, expect != 0)
	}
	if result.Config != nil {
		if !result.Unchanged {
			result.Warnings = append(result.Warnings, c.unasked(c.Config, result.Config)...)
		}
		c.Config, c.Revision = result.Config, result.Revision.Number
	}
	c.warnings, c.pending = result.Warnings, result.Pending
	return result, nil
}

// Warning returns the problems of the object at path (validate.FarmPath etc.) after the
// change, "" if there are none. Side effects of the change (did) come first.
func (c *Call) Warning(path string, did ...string) string {
	texts := slices.DeleteFunc(did, func(text string) bool { return text == "" })
	for _, w := range c.warnings {
		if validate.Concerns(&w, path) {
			texts = append(texts, w.Message)
		}
	}
	return c.Discreet(strings.Join(texts, "; "))
}
