package rest

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"github.com/sluicelb/sluice/mgmt/apply"
)

// input gives handlers the router's view of the request; what it holds is
// documented by hand from the operation, because bodies are decoded by the
// rule tables and not by the router.
type input struct{ via huma.Context }

// Resolve is called by the router before the handler.
func (i *input) Resolve(ctx huma.Context) []error {
	i.via = ctx
	return nil
}

// output is a handler's answer as the router wants it.
type output[O any] struct {
	Status      int
	ETag        string `header:"ETag" doc:"Number of the configuration's revision; of what is kept beside it, a revision of its own"`
	ContentType string `header:"Content-Type" hidden:"true"`
	Disposition string `header:"Content-Disposition" hidden:"true"`
	Cookie      string `header:"Set-Cookie" hidden:"true"`
	Location    string `header:"Location" hidden:"true"`
	Confirm     string `header:"Confirm-Before" doc:"Until when the change has to be confirmed, or is watched by its guard; then it goes back, or is confirmed"`
	Body        O
}

// answer runs one handler: right, query, handler, and the one place where an
// error becomes an answer.
func answer[O any](ctx context.Context, host *Host, o *Operation, in *input, handler func(*Call) (O, error)) (*output[O], error) {
	c := &Call{Context: ctx, host: host, op: o, Request: humaecho.Unwrap(in.via).Request(), via: in.via, By: principal(ctx)}
	cfg, revision := host.Applier.CurrentIn(ctx)
	c.Config, c.Revision = cfg, revision.Number
	told := NoteOf(ctx)
	told.Quiet, told.Keep = o.reads && !o.kept, o.kept && o.Method == http.MethodGet
	body, err := run(c, handler)
	if errors.Is(err, apply.ErrDryRun) {
		told.Quiet = true
		return nil, c.onlyTried()
	}
	if err != nil {
		r := *RejectionOf(err, false)
		r.Description = cmp.Or(r.Description, o.Summary)
		LogFault(host.Log, c.Request, &r)
		told.Message = r.Message
		return nil, &r
	}
	told.Message, told.Revision = o.Summary, c.Revision
	out := &output[O]{Status: o.success, ETag: c.etag, ContentType: c.ContentType, Disposition: c.disposition, Cookie: c.Cookie, Location: c.Location, Body: body}
	if c.Location != "" {
		out.Status = http.StatusSeeOther
	}
	if c.pending != nil {
		out.Confirm = c.pending.Until.UTC().Format(time.RFC3339)
	}
	return out, nil
}

// do runs the handler; of what is about a document, its revision is told.
func do[O any](c *Call, handler func(*Call) (O, error)) (O, error) {
	d := c.op.about
	switch {
	case d == nil:
		out, err := handler(c)
		c.etag = etag(c.Revision)
		return out, err
	case c.op.changes():
		return within(d, c, handler)
	}
	c.etag = d.etag() // before: what is read later is no older
	return handler(c)
}

func run[O any](c *Call, handler func(*Call) (O, error)) (O, error) {
	var none O
	if !c.By.May(c.op.Needs) {
		return none, Refuse(http.StatusForbidden, "you may not do this: the permission %q is needed", c.op.Needs)
	}
	if err := c.checkWhole(); err != nil {
		return none, err
	}
	if err := c.checkFarm(); err != nil {
		return none, err
	}
	if err := c.checkQuery(); err != nil {
		return none, err
	}
	if err := c.inTransaction(); err != nil {
		return none, err
	}
	if err := c.onTrial(); err != nil {
		return none, err
	}
	if c.op.changes() && !c.op.document {
		dry, err := c.Flag(dryRun)
		if err != nil {
			return none, err
		}
		if c.dry = dry; dry {
			c.Context = apply.DryRun(c.Context)
		}
	}
	out, err := do(c, handler)
	if l, is := any(&out).(lister); is && err == nil && c.op.paged {
		err = l.pick(c)
	}
	return out, err
}
