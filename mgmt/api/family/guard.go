package family

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/inline"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// mostTries is the number of attempts to make a change when others change the configuration
// concurrently.
const mostTries = 5

// write is one change of a transaction.
type write struct {
	Method string         `json:"method"`
	Path   string         `json:"path"`
	Body   map[string]any `json:"body,omitempty"`
}

// guard changes the health check of the farm in the path, or of one of its services, and
// responds. The change is derived from the configuration it read. If that changed
// meanwhile, guard starts again, unless the client sent the expected revision.
func (c *call) guard(service string, asked map[string]any) {
	for try := 1; ; try++ {
		cfg, revision := c.config(c.r.Context())
		g, err := rest.FindGroup(cfg, c.at[1], service)
		if err != nil {
			c.refuse(rest.RejectionOf(err, false))
			return
		}
		writes, refusal := c.guardWrites(cfg, g, asked)
		if refusal != nil {
			c.refuse(refusal)
			return
		}
		rec := c.transact(g, writes, revision)
		if rec.status == http.StatusPreconditionFailed && !c.expects() && try < mostTries {
			continue
		}
		c.guardAnswer(g, service, rec)
		return
	}
}

// guardWrites lists the writes to make. A check that others use, or that was created
// elsewhere, is never changed: the group gets its own copy.
func (c *call) guardWrites(cfg *farm.Config, g farm.Group, asked map[string]any) ([]write, *rest.Rejection) {
	source, own := sourceOf(cfg, g), ownCheck(cfg, g)
	changed := c.differing(asked, c.seen(source))
	var out []write
	target := source
	if len(changed) > 0 {
		target, out = own, ownWrites(cfg, g, source, own, changed)
	}
	link := target
	switch asked["fgenabled"] {
	case "true":
		if err := runnable(cfg, source, changed["command"]); err != nil {
			return nil, err
		}
	case "false":
		link = ""
	default:
		if g.CheckedBy() == "" {
			link = ""
		}
	}
	return append(out, write{http.MethodPut, pathOf(g), map[string]any{"farmguardian": link}}), nil
}

// ownWrites returns the writes that change or create the group's own check.
func ownWrites(cfg *farm.Config, g farm.Group, source, own string, changed map[string]any) []write {
	const all = "/monitoring/fg"
	if source == own {
		changed["force"] = "true" // no other group uses it
		return []write{{http.MethodPut, all + "/" + own, changed}}
	}
	var out []write
	if farm.CheckAt(cfg.Checks, own) >= 0 { // left over
		out = append(out, write{http.MethodDelete, all + "/" + own, nil})
	}
	changed["name"] = own
	changed["description"] = inline.Description(g)
	if source != "" {
		changed["copy_from"] = source
	} else if changed["interval"] == nil {
		changed["interval"] = noGuardian()["fgtimecheck"]
	}
	return append(out, write{http.MethodPost, all, changed})
}

// runnable refuses to enable a check without a valid command. If the request contains a
// command, the operation that stores it validates it.
func runnable(cfg *farm.Config, source string, sent any) *rest.Rejection {
	if sent != nil {
		return nil
	}
	kept, _ := check.Named(cfg, source)
	if kept.Command == "" {
		return rest.BadRequest("fgenabled: \"true\" needs fgscript, and none is kept: send the command, as check_tcp -H HOST -p PORT")
	}
	if err := probe.Check(kept.Command); err != nil {
		return rest.BadRequest("fgenabled: the fgscript that is kept cannot be run here: send another one")
	}
	return nil
}

// pathOf returns the path of a group.
func pathOf(g farm.Group) string {
	if g.OfService() {
		return "/farms/" + g.Farm.Name + "/services/" + g.Name()
	}
	return "/farms/" + g.Farm.Name
}

// transact performs writes as one transaction on top of a revision.
func (c *call) transact(g farm.Group, writes []write, revision uint64) *recorded {
	raw, err := json.Marshal(map[string]any{"writes": writes, "comment": fmt.Sprintf("modify health check of %s", g)})
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	r := rest.Moved(withBody(c.r, raw), http.MethodPost, Base+"/transactions")
	r.Header.Set("Content-Type", "application/json")
	if !c.expects() {
		r.Header.Set("If-Match", fmt.Sprintf("%q", fmt.Sprint(revision)))
	}
	return c.ask(r)
}

// expects reports whether the client sent an expected revision.
func (c *call) expects() bool {
	match := strings.TrimSpace(strings.Join(c.r.Header.Values("If-Match"), ","))
	return match != "" && match != "*"
}

// guardAnswer responds to a change in the terms of the client's generation.
func (c *call) guardAnswer(g farm.Group, service string, rec *recorded) {
	rec.headersTo(c.w)
	body := object(rec.body.Bytes())
	params, _ := body["params"].(map[string]any)
	switch {
	case body == nil:
		rec.copyTo(c.w)
	case rec.status >= http.StatusMultipleChoices:
		body["description"], body["message"] = c.r.Method+" "+rest.QuotePath(c.r.URL.Path), inOldWords(body["message"])
		delete(body, "write")
		rest.NoteOf(c.r.Context()).Message = fmt.Sprint(body["message"])
		c.reply(rec.status, body)
	case params["dry_run"] == "true": // dry run
		body["description"] = "Modify farm guardian"
		c.reply(rec.status, body)
	default:
		cfg, _ := c.config(c.r.Context())
		now := c.inline(cfg, service)
		state := map[any]string{"true": "enabled", "false": "disabled"}[now["fgenabled"]]
		out := map[string]any{"description": "Modify farm guardian", "params": now, "success": "true",
			"message": fmt.Sprintf("The farm guardian of %s is %s.", g, state)}
		if text := warning(g.Farm.Name, sourceOf(cfg, g), params["warnings"]); text != "" {
			out["warning"] = text
		}
		c.reply(http.StatusOK, out)
	}
}

// warning returns those warnings of a transaction that concern a farm or a check, e.g. that
// the check cannot run here.
func warning(farmName, found string, of any) string {
	var out []string
	texts, _ := of.([]any)
	for _, text := range texts {
		text, _ := text.(string)
		path, message, _ := strings.Cut(text, ": ")
		if strings.HasPrefix(path+" ", profile.FarmPath(farmName)+" ") || path == check.Path(found) {
			out = append(out, message)
		}
	}
	return strings.Join(out, "; ")
}

// inOldWords removes the position in the transaction from a message and uses the old field
// names. Before: "writes[0], POST /monitoring/fg: command cannot be run: …".
func inOldWords(message any) string {
	text, _ := message.(string)
	if _, after, is := strings.Cut(text, ": "); is && strings.HasPrefix(text, "writes[") {
		text = strings.TrimSuffix(after, "; nothing was changed")
	}
	for old, now := range fieldOf {
		if after, is := strings.CutPrefix(text, now+" "); is {
			return old + " " + after
		}
	}
	return cmp.Or(text, "refused")
}
