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
)

// Author is who history will name.
func (c *Call) Author() apply.Author {
	source := "api " + c.By.Source
	if auth.Local(c.Request) {
		source = "cli"
	}
	return apply.Author{Name: c.By.Name, Source: source}
}

// Expected returns the revision of If-Match, 0 when any will do.
func (c *Call) Expected() (uint64, error) {
	m := readMatch(c.Request)
	if m.any {
		return 0, nil
	}
	if !m.of(strconv.FormatUint(c.Revision, 10)) && !c.isFarmAsBefore(m) && !c.isAsBefore(m) { // checked again under the writer's lock
		return 0, RejectionOf(apply.ErrConflict, true)
	}
	return c.Revision, nil
}

// Act ends a call that is only tried, or that another revision was expected for, at
// the last moment before it does something: what would be refused anyway is refused
// for that (RFC 9110, section 13.2.1). Changes of the configuration and of
// certificates end by themselves.
func (c *Call) Act() error {
	if c.op.about == nil { // else it was looked at before (within)
		if _, err := c.Expected(); err != nil {
			return err
		}
	}
	if c.dry {
		return apply.ErrDryRun
	}
	return nil
}

// Dry reports whether the call is only tried, for what ends by itself then.
func (c *Call) Dry() bool { return c.dry }

// Later has something done with the configuration a change led to: at once, or when the
// transaction the call is part of is in force.
func (c *Call) Later(do func(*farm.Config)) {
	if d := apply.DraftOf(c.Context); d != nil {
		d.Later(do)
		return
	}
	do(c.Config)
}

// Book is who may do what, for the caller: changes last only when the call may act, and
// are refused when the caller does not cover them.
func (c *Call) Book(of *rbac.Book) *rbac.Book {
	if !c.By.Who.Root() {
		of = of.On(rbac.Caller{Name: c.By.Who.Name(), Farms: slices.Collect(farmIDs(c.Config))})
	}
	if err := c.Act(); err != nil {
		return of.DryRun(err)
	}
	return of
}

// MayTake gives a request more time than others; without it the connection's own
// bounds would end what it does as well.
func (c *Call) MayTake(d time.Duration) {
	control := http.NewResponseController(c.response)
	until := time.Now().Add(d)
	_ = control.SetReadDeadline(until) // not every connection can; it is none of a server then
	_ = control.SetWriteDeadline(until)
}

// Change edits the configuration through the one writer. The edit sees a copy
// of the newest configuration and must look up what it changes in that.
func (c *Call) Change(comment string, edit func(*farm.Config) error) (apply.Result, error) {
	expect, err := c.Expected()
	if err != nil {
		return apply.Result{}, err
	}
	result, err := c.host.Applier.Change(c.Context, c.Author(), comment, expect, edit)
	return c.Keep(result, err, expect)
}

// ChangeFarm is Change of one farm: edit changes nothing of the others.
func (c *Call) ChangeFarm(name, comment string, edit func(*farm.Config) error) (apply.Result, error) {
	expect, err := c.Expected()
	if err != nil {
		return apply.Result{}, err
	}
	result, err := c.host.Applier.ChangeFarm(c.Context, c.Author(), comment, expect, name, edit)
	return c.Keep(result, err, expect)
}

// Keep remembers what a change led to, for the answer.
func (c *Call) Keep(result apply.Result, err error, expect uint64) (apply.Result, error) {
	if errors.Is(err, apply.ErrDryRun) {
		c.tried = result
		return result, err
	}
	if err != nil {
		return result, RejectionOf(err, expect != 0)
	}
	if result.Config != nil {
		c.Config, c.Revision = result.Config, result.Revision.Number
	}
	c.warnings, c.pending = result.Warnings, result.Pending
	return result, nil
}

// Warning is what cannot work of the object at that path (validate.FarmPath and
// its kin) after the change, empty when all can. What the change did besides what
// was asked for comes first.
func (c *Call) Warning(path string, did ...string) string {
	texts := slices.DeleteFunc(did, func(text string) bool { return text == "" })
	for _, w := range c.warnings {
		if w.Concerns(path) {
			texts = append(texts, w.Message)
		}
	}
	return c.Discreet(strings.Join(texts, "; "))
}
