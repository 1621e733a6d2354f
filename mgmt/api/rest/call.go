package rest

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// Call is one request on its way through one handler. It is used by that
// handler's goroutine only.
type Call struct {
	Context context.Context
	Request *http.Request
	// By is who asks.
	By auth.Principal
	// Config and Revision are the configuration the handler reads: loaded once,
	// so that one answer never mixes two of them. After a change they are what it
	// led to.
	Config   *farm.Config
	Revision uint64
	// ContentType is set by handlers that answer with something else than JSON,
	// Cookie by those that begin or end a session, Location by those that send the
	// browser elsewhere.
	ContentType, Cookie, Location string

	host     *Host
	op       *Operation
	response http.ResponseWriter
	// param is the router's: what stands in the path for a name.
	param func(name string) string
	// etag is the revision of what the operation is about.
	etag string
	// warnings are about the configuration after the change this call made.
	warnings []validate.Error
	// disposition says that the answer is to be saved as a file.
	disposition string
	// dry: only tried, nothing is done. tried is what would have become of the
	// configuration.
	dry   bool
	tried apply.Result
	// preview is what a dry run shows beside it, nil for nothing.
	preview *Preview
	// pending is set when the change goes back unless it is confirmed.
	pending *apply.Pending
}

// Summary is what the table of operations says of this one.
func (c *Call) Summary() string { return c.op.Summary }

func etag(revision uint64) string { return `"` + strconv.FormatUint(revision, 10) + `"` }

// Param returns a path parameter. The router leaves the escapes of some paths
// as they are; a blank is the only one there can be (canonical). The slash of a zone is
// a tilde here, and the root zone @ (farms.InZones).
func (c *Call) Param(name string) string {
	if name == "zone" && c.param(name) == "@" {
		return farm.RootZone
	}
	if name == "zone" {
		return strings.ReplaceAll(c.param(name), "~", "/")
	}
	return strings.ReplaceAll(c.param(name), "%20", " ")
}

// Query returns a query parameter, "" when it was not sent.
func (c *Call) Query(name string) string { return c.Request.URL.Query().Get(name) }

// Flag returns a query parameter that is true or false, false when not sent.
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

// Number returns a query parameter that is a number from low to high.
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

// checkQuery refuses parameters the operation does not know, and repeated ones.
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
			return BadRequest("query parameter %s is unknown%s", Quote(name), c.op.knownQuery())
		}
		if len(v) > 1 {
			return BadRequest("query parameter %s: given twice", name)
		}
	}
	return nil
}

// Farm returns the farm the path names.
func (c *Call) Farm() (*farm.Farm, error) { return c.Visible(c.Param("farm")) }

// Visible returns a farm that the caller sees: to others it does not exist.
func (c *Call) Visible(name string) (*farm.Farm, error) {
	f, err := FindFarm(c.Config, name)
	if err == nil && !c.mayFarm(f.ID) {
		err = noFarm(name)
	}
	return f, err
}

// mayFarm reports whether the caller sees a farm: also one that this transaction made.
func (c *Call) mayFarm(id uint32) bool {
	d := apply.DraftOf(c.Context)
	return c.By.Who.MayFarm(id) || d != nil && d.Made(id)
}

// Farms are those the caller sees.
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

// whole are the permissions for what shows, exports or changes data about all farms at
// once. Operations that need another one say so with OfAll.
var whole = []rbac.Permission{
	rbac.ConfigShow, rbac.ConfigApply, rbac.HistoryShow, rbac.HistoryRollback, rbac.LogShow, rbac.LogDownload,
	rbac.BackupCreate, rbac.BackupDownload, rbac.BackupUpload, rbac.BackupApply, rbac.BackupDelete, rbac.SupportsaveDownload,
	rbac.AliasModify, rbac.AliasDelete, rbac.SystemModify, rbac.NotificationModify, rbac.NotificationAction, rbac.NotificationTest,
	rbac.ClusterCreate, rbac.ClusterModify, rbac.ClusterMaintenance, rbac.ClusterDelete,
}

// SeesAll reports whether there is no farm that the caller does not see. Farms that this
// transaction made say nothing about that.
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

// IsAuthor reports whether the caller made a change, with whatever key it was sent.
func (c *Call) IsAuthor(author string) bool {
	user, _, _ := strings.Cut(author, " ")
	return user == c.By.Who.Name()
}

// SeesChange reports whether the caller may know the author and the content of a change.
func (c *Call) SeesChange(author string) bool {
	return c.IsAuthor(author) || c.By.May(rbac.HistoryShow) && c.SeesAll()
}

// SeesAll reports whether there is no farm of a configuration that somebody does not
// see.
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

// Whole reports whether the operation is about all farms.
func (o *Operation) Whole() bool { return o.whole || slices.Contains(whole, o.Needs) }

// checkWhole refuses what is about all farms to who sees some of them only.
func (c *Call) checkWhole() error {
	if c.op.Whole() && !c.SeesAll() {
		return NotOfAll()
	}
	return nil
}

// NotOfAll refuses what is about all farms to who sees some of them only.
func NotOfAll() *Rejection {
	return Refuse(http.StatusForbidden, "you may not do this: it is about all farms, and your group has not all of them")
}

// checkFarm refuses a path to a farm that the caller does not see, before a handler
// looks at it. Of one that is not there, the handler says so.
func (c *Call) checkFarm() error {
	if c.By.Who.Root() || !strings.Contains(c.op.Path, "{farm}") || c.Config.Farm(c.Param("farm")) == nil {
		return nil
	}
	_, err := c.Farm()
	return err
}

func noFarm(name string) error { return NotFound("the farm %s does not exist", Quote(name)) }
