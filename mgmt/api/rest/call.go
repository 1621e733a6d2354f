package rest

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// Call is one request in one handler. Only that handler's goroutine uses it.
type Call struct {
	Context context.Context
	Request *http.Request
	// By is the caller.
	By auth.Principal
	// Config and Revision are the configuration that the handler reads. They are loaded
	// once, so that a response never mixes two configurations. After a change they hold its
	// result.
	Config   *farm.Config
	Revision uint64
	// ContentType is set by handlers with a response other than JSON, Cookie by those that
	// start or end a session, and Location by those that redirect.
	ContentType, Cookie, Location string

	// required holds the checks to repeat when a change has the turn to write.
	required []func() error
	// acted is set by Act.
	acted bool
	// effects collects what the changes of the call do. The writes of a transaction share it.
	effects *effects

	begun    time.Time
	host     *Host
	op       *Operation
	response http.ResponseWriter
	// param is the router's lookup of a path parameter by name.
	param func(name string) string
	// etag is the revision of the operation's subject.
	etag string
	// warnings concern the configuration after the change made by this call.
	warnings []field.Error
	// disposition makes the client save the response as a file.
	disposition string
	// dry marks a dry run. tried is the configuration it would have produced.
	dry   bool
	tried apply.Result
	// preview is an additional result of a dry run, or nil.
	preview *Preview
	// pending is set if the change is reverted unless confirmed.
	pending *apply.Pending
}

// Summary returns the operation's summary.
func (c *Call) Summary() string { return c.op.Summary }

func etag(revision uint64) string { return `"` + strconv.FormatUint(revision, 10) + `"` }

// Param returns a path parameter. The router leaves escapes in some paths; only a blank can
// occur (canonical). A slash in a zone name appears as a tilde, and the root zone as @
// (farms.InZones).
func (c *Call) Param(name string) string {
	if name == "zone" && c.param(name) == "@" {
		return farm.RootZone
	}
	if name == "zone" {
		return strings.ReplaceAll(c.param(name), "~", "/")
	}
	return strings.ReplaceAll(c.param(name), "%20", " ")
}

// Query returns a query parameter, "" if it was not sent.
func (c *Call) Query(name string) string { return c.Request.URL.Query().Get(name) }

// Flag returns a boolean query parameter, false if it was not sent.
func (c *Call) Flag(name string) (bool, error) {
	switch v := c.Query(name); v {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, BadRequest("%s: %q is not allowed, allowed are true and false", name, v)
	}
}

// OneOf returns a query parameter that is one of words, regardless of case, or "" if it was
// not sent.
func OneOf[W ~string](c *Call, name string, words []W) (W, error) {
	v := c.Query(name)
	if v == "" {
		return "", nil
	}
	for _, w := range words {
		if strings.EqualFold(string(w), v) {
			return w, nil
		}
	}
	return "", BadRequest("%s: %s is not allowed, allowed are %s", name, Quote(v), listed(words))
}

// listed joins the words of an enumeration.
func listed[W ~string](words []W) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	if len(out) == 2 {
		return out[0] + " and " + out[1]
	}
	return strings.Join(out, ", ")
}

// Number returns a numeric query parameter from low to high, or fallback if it was not
// sent.
func (c *Call) Number(name string, fallback, low, high uint64) (uint64, error) {
	v := c.Query(name)
	if v == "" {
		return fallback, nil
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil || n < low || n > high {
		return 0, BadRequest("%s: %q is not allowed, allowed are numbers from %d to %d", name, v, low, high)
	}
	return n, nil
}

func parseQuery(r *http.Request) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, BadRequest("the query is broken: allowed is name=value&name=value")
	}
	return values, nil
}

// checkQuery rejects unknown and repeated parameters.
func (c *Call) checkQuery() error {
	values, err := parseQuery(c.Request)
	if err != nil {
		return err
	}
	for name, v := range values {
		if !c.op.knows(name) {
			if err := c.op.noTrial(name); err != nil {
				return err
			}
			return BadRequest("query parameter %s is unknown%s", Quote(name), c.op.knownQuery(name))
		}
		if len(v) > 1 {
			return BadRequest("query parameter %s: given twice", name)
		}
	}
	return nil
}

// Farm returns the farm in the path.
func (c *Call) Farm() (*farm.Farm, error) { return c.Visible(c.Param("farm")) }

// Visible returns a farm that the caller sees. For other callers it does not exist.
func (c *Call) Visible(name string) (*farm.Farm, error) {
	f, err := FindFarm(c.Config, name)
	if err == nil && !c.mayFarm(f.ID) {
		err = noFarm(name)
	}
	return f, err
}

// mayFarm reports whether the caller sees a farm, including one created by this
// transaction.
func (c *Call) mayFarm(id uint32) bool {
	d := apply.DraftOf(c.Context)
	return c.By.Who.MayFarm(id) || d != nil && d.Made(id)
}

// Farms returns the farms that the caller sees.
func (c *Call) Farms() []farm.Farm {
	if c.By.Who.Root() {
		return c.Config.Farms
	}
	var out []farm.Farm
	for i := range c.Config.Farms {
		if c.mayFarm(c.Config.Farms[i].ID) {
			out = append(out, c.Config.Farms[i])
		}
	}
	return out
}

// whole lists the permissions of operations that show, export or change data of all farms
// at once. Operations with other permissions use OfAll.
var whole = []rbac.Permission{
	rbac.ConfigShow, rbac.ConfigApply, rbac.HistoryShow, rbac.HistoryRollback, rbac.LogShow, rbac.LogDownload,
	rbac.BackupCreate, rbac.BackupDownload, rbac.BackupUpload, rbac.BackupApply, rbac.BackupDelete, rbac.SupportsaveDownload,
	rbac.AliasModify, rbac.AliasDelete, rbac.SystemModify, rbac.NotificationModify, rbac.NotificationAction, rbac.NotificationTest,
	rbac.ClusterCreate, rbac.ClusterModify, rbac.ClusterMaintenance, rbac.ClusterDelete,
}

// SeesAll reports whether the caller sees every farm. Farms created by this transaction are
// ignored.
func (c *Call) SeesAll() bool {
	d := apply.DraftOf(c.Context)
	return c.By.Who.SeesAll(func(yield func(uint32) bool) {
		for id := range farmIDs(c.Config) {
			if (d == nil || !d.Made(id)) && !yield(id) {
				return
			}
		}
	})
}

// IsAuthor reports whether the caller made a change, with whichever key.
func (c *Call) IsAuthor(author string) bool {
	user, _, _ := strings.Cut(author, " ")
	return user == c.By.Who.Name()
}

// SeesChange reports whether the caller may see the author and content of a change.
func (c *Call) SeesChange(author string) bool {
	return c.IsAuthor(author) || c.By.May(rbac.HistoryShow) && c.SeesAll()
}

// SeesAll reports whether by sees every farm of cfg.
func SeesAll(by auth.Principal, cfg *farm.Config) bool { return by.Who.SeesAll(farmIDs(cfg)) }

func farmIDs(cfg *farm.Config) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i := range cfg.Farms {
			if !yield(cfg.Farms[i].ID) {
				return
			}
		}
	}
}

// Whole reports whether the operation concerns all farms.
func (o *Operation) Whole() bool { return o.whole || slices.Contains(whole, o.Needs) }

// checkWhole rejects operations on all farms unless the caller sees them all.
func (c *Call) checkWhole() error {
	if c.op.Whole() && !c.SeesAll() {
		return NotOfAll()
	}
	return nil
}

// NotOfAll is the rejection for callers who do not see all farms.
func NotOfAll() *Rejection {
	return Refuse(http.StatusForbidden, "you may not do this: it is about all farms, and your group has not all of them")
}

// checkFarm rejects a path to a farm that is missing or hidden from the caller, before anything
// else in the request is looked at: no response may tell one from the other. Root sees every
// farm, and gets the response of the handler.
func (c *Call) checkFarm() error {
	if c.By.Who.Root() || c.farmParam() == "" {
		return nil
	}
	_, err := c.Farm()
	return err
}

// farmParam returns the name of the farm in the path, "" without one.
func (c *Call) farmParam() string {
	if !strings.Contains(c.op.Path, "{farm}") {
		return ""
	}
	return c.Param("farm")
}

func noFarm(name string) error { return NotFound("the farm %s does not exist", Quote(name)) }
