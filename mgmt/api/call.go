package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// call is one request on its way through one handler. It is used by that
// handler's goroutine only.
type call struct {
	ctx context.Context
	s   *Server
	op  *operation
	r   *http.Request
	via huma.Context
	by  auth.Principal
	// cfg and revision are the configuration the handler reads: loaded once,
	// so that one answer never mixes two of them.
	cfg      *farm.Config
	revision uint64
	// warnings are about the configuration after the change this call made.
	warnings []validate.Error
	// status replaces the operation's own when it is not 0.
	status int
	// contentType is set by handlers that answer with something else than JSON.
	contentType string
	// disposition is set by handlers whose answer is to be saved as a file.
	disposition string
	// dry: only tried, nothing is done. tried is what would have become of the
	// configuration.
	dry   bool
	tried apply.Result
	// cookie is set by handlers that begin or end a session.
	cookie string
}

func etag(revision uint64) string { return `"` + strconv.FormatUint(revision, 10) + `"` }

// param returns a path parameter. The router leaves the escapes of some paths
// as they are; a blank is the only one there can be (canonical).
func (c *call) param(name string) string { return strings.ReplaceAll(c.via.Param(name), "%20", " ") }

// query returns a query parameter, "" when it was not sent.
func (c *call) query(name string) string { return c.r.URL.Query().Get(name) }

// flag returns a query parameter that is true or false, false when not sent.
func (c *call) flag(name string) (bool, error) {
	switch v := c.query(name); v {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, badRequest("%s: %q is not allowed, allowed are true and false", name, v)
	}
}

// number returns a query parameter that is a number from low to high.
func (c *call) number(name string, fallback, low, high uint64) (uint64, error) {
	v := c.query(name)
	if v == "" {
		return fallback, nil
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil || n < low || n > high {
		return 0, badRequest("%s: %q is not allowed, allowed are numbers from %d to %d", name, v, low, high)
	}
	return n, nil
}

// checkQuery refuses parameters the operation does not know, and repeated ones.
func (c *call) checkQuery() error {
	values, err := parseQuery(c.r)
	if err != nil {
		return err
	}
	for name, v := range values {
		if !c.op.knows(name) {
			return badRequest("query parameter %s is unknown%s", quoteName(name), c.op.knownQuery())
		}
		if len(v) > 1 {
			return badRequest("query parameter %s: given twice", name)
		}
	}
	return nil
}

// farm returns the farm the path names.
func (c *call) farm() (*farm.Farm, error) { return c.visible(c.param("farm")) }

// visible returns a farm that the caller sees: to others it does not exist.
func (c *call) visible(name string) (*farm.Farm, error) {
	f, err := findFarm(c.cfg, name)
	if err == nil && !c.by.Who.MayFarm(f.ID) {
		err = noFarm(name)
	}
	return f, err
}

// farms are those the caller sees.
func (c *call) farms() []farm.Farm {
	if c.by.Who.Root() {
		return c.cfg.Farms
	}
	var out []farm.Farm
	for i := range c.cfg.Farms {
		if c.by.Who.MayFarm(c.cfg.Farms[i].ID) {
			out = append(out, c.cfg.Farms[i])
		}
	}
	return out
}

// whole are the permissions for what shows or changes all farms at once.
var whole = []rbac.Permission{rbac.ConfigShow, rbac.ConfigApply, rbac.HistoryShow, rbac.HistoryRollback, rbac.LogShow, rbac.LogDownload}

// seesAll reports whether there is no farm that the caller does not see.
func (c *call) seesAll() bool { return seesAll(c.by, c.cfg) }

func seesAll(by auth.Principal, cfg *farm.Config) bool {
	return by.Who.Root() || !slices.ContainsFunc(cfg.Farms, func(f farm.Farm) bool { return !by.Who.MayFarm(f.ID) })
}

// checkWhole refuses what is about all farms to who sees some of them only.
func (c *call) checkWhole() error {
	if (c.op.whole || slices.Contains(whole, c.op.needs)) && !c.seesAll() {
		return notOfAll()
	}
	return nil
}

func notOfAll() *rejection {
	return refuse(http.StatusForbidden, "you may not do this: it is about all farms, and your group has not all of them")
}

// checkFarm refuses a path to a farm that the caller does not see, before a handler
// looks at it. Of one that is not there, the handler says so.
func (c *call) checkFarm() error {
	if c.by.Who.Root() || !strings.Contains(c.op.path, "{farm}") || c.cfg.Farm(c.param("farm")) == nil {
		return nil
	}
	_, err := c.farm()
	return err
}

func noFarm(name string) error { return notFound("the farm %s does not exist", quoteName(name)) }

// service returns the service the path names, as a group of its farm.
func (c *call) service() (farm.Group, error) {
	return findServiceGroup(c.cfg, c.param("farm"), c.param("service"))
}

func findFarm(cfg *farm.Config, name string) (*farm.Farm, error) {
	if f := cfg.Farm(name); f != nil {
		return f, nil
	}
	return nil, noFarm(name)
}

func findServiceGroup(cfg *farm.Config, name, service string) (farm.Group, error) {
	f, err := findFarm(cfg, name)
	if err == nil {
		err = hasServices(f)
	}
	if err != nil {
		return farm.Group{}, err
	}
	if at := groupNamed(f, service); at >= 0 {
		return f.Groups()[at], nil
	}
	return farm.Group{}, notFound("the service %s does not exist in the farm %s", quoteName(service), f.Name)
}

// author is who history will name.
func (c *call) author() apply.Author {
	source := "api " + c.by.Source
	if auth.Local(c.r) {
		source = "cli"
	}
	return apply.Author{Name: c.by.Name, Source: source}
}

// expected returns the revision of If-Match, 0 when any will do.
func (c *call) expected() (uint64, error) {
	text := strings.TrimSpace(c.r.Header.Get("If-Match"))
	if text == "" || text == "*" {
		return 0, nil
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(text, `"`), `"`)
	n, err := strconv.ParseUint(bare, 10, 64)
	if err != nil || len(bare) != len(text) && len(bare) != len(text)-2 {
		return 0, badRequest("If-Match: %s is not a revision, allowed is the ETag of an answer", quoteName(text))
	}
	if n != c.revision { // checked again under the writer's lock
		return 0, rejectionOf(apply.ErrConflict, true)
	}
	return n, nil
}

// act ends a call that is only tried, at the last moment before it does something.
// Changes of the configuration and of certificates end by themselves.
func (c *call) act() error {
	if c.dry {
		return apply.ErrDryRun
	}
	return nil
}

// users is who may do what; changes of it last only when the call is no trial.
func (c *call) users() *rbac.Book {
	if c.dry {
		return c.s.deps.Users.DryRun(apply.ErrDryRun)
	}
	return c.s.deps.Users
}

// change edits the configuration through the one writer. The edit sees a copy
// of the newest configuration and must look up what it changes in that.
func (c *call) change(comment string, edit func(*farm.Config) error) (apply.Result, error) {
	expect, err := c.expected()
	if err != nil {
		return apply.Result{}, err
	}
	result, err := c.s.deps.Applier.Change(c.ctx, c.author(), comment, expect, edit)
	return c.keep(result, err, expect)
}

// keep remembers what a change led to, for the answer.
func (c *call) keep(result apply.Result, err error, expect uint64) (apply.Result, error) {
	if errors.Is(err, apply.ErrDryRun) {
		c.tried = result
		return result, err
	}
	if err != nil {
		return result, rejectionOf(err, expect != 0)
	}
	if result.Config != nil {
		c.cfg, c.revision = result.Config, result.Revision.Number
	}
	c.warnings = result.Warnings
	return result, nil
}

// warning is what cannot work of the object at that path (validate.FarmPath and
// its kin) after the change, empty when all can. What the change did besides what
// was asked for comes first.
func (c *call) warning(path string, did ...string) string {
	texts := slices.DeleteFunc(did, func(text string) bool { return text == "" })
	for _, w := range c.warnings {
		if w.Path == path {
			texts = append(texts, w.Message)
		}
	}
	return strings.Join(texts, "; ")
}

// readObject reads the body as one object.
func (c *call) readObject() (map[string]any, error) {
	raw, err := readBody(c.r, maxBody, jsonTypes)
	if err != nil {
		return nil, err
	}
	return decodeObject(raw)
}

// decode reads the body through the table of its fields. A body without any
// field is answered with what it could have had.
func decode[T any](c *call, table *validate.Table[T]) (validate.Values[T], error) {
	body, err := c.readObject()
	if err != nil {
		return validate.Values[T]{}, err
	}
	if len(body) == 0 {
		return validate.Values[T]{}, help(table)
	}
	return table.Decode("", body)
}

func help(f fields) error {
	return &rejection{status: http.StatusBadRequest, message: "No parameter has been sent. Please, try with:", help: f.Params()}
}

// object reads a small body of Sluice's own, in which everything listed may
// come and what is required must.
func (c *call) object(f fields) (map[string]any, error) {
	body, err := c.readObject()
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		return nil, help(f)
	}
	return body, checkNames(f, body)
}

// fields is object for a body that may be empty.
func (c *call) fields(f fields) (map[string]any, error) {
	body, err := c.readObject()
	if err != nil {
		return nil, err
	}
	return body, checkNames(f, body)
}

func checkNames(f fields, body map[string]any) error {
	var names []string
	for _, p := range f.Params() {
		names = append(names, p.Name)
		if _, sent := body[p.Name]; !sent && slices.Contains(p.Options, "required") {
			return badRequest("%s is required", p.Name)
		}
	}
	for name := range body {
		if !slices.Contains(names, name) {
			return badRequest("unknown field %s%s", quoteName(name), validate.Instead(name, names))
		}
	}
	return nil
}
