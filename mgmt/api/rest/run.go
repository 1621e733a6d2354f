package rest

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/apply"
)

// Serve responds to a request for the operation; param returns a path parameter by name.
func (o *Operation) Serve(host *Host, w http.ResponseWriter, r *http.Request, param func(name string) string) {
	c := o.call(host, r, param)
	c.response, c.begun = w, time.Now()
	if !o.Changes() {
		c.Config = c.show(c.Config)
	}
	user, _, _ := strings.Cut(c.By.Name, " ") // without the number of the key
	ctx := apply.OnBehalf(apply.WithPermit(c.Context, c.permit), user)
	ctx = apply.WithAdmission(ctx, apply.Admission{Admit: c.admit, Rights: c.rights})
	c.Context = apply.WithAlong(ctx, c.along)
	o.answer(c)
}

// call returns the call of a request, with the configuration in force.
func (o *Operation) call(host *Host, r *http.Request, param func(name string) string) *Call {
	cfg, revision := host.Applier.CurrentIn(r.Context())
	return &Call{Context: r.Context(), Request: r, By: principal(r.Context()), Config: cfg, Revision: revision.Number, host: host, op: o, param: param}
}

// Permits reports whether the caller of a request may use the operation, before its body is
// read. Serve rejects other callers.
func (o *Operation) Permits(host *Host, r *http.Request, param func(name string) string) bool {
	return o.call(host, r, param).permitted() == nil
}

// permitted rejects callers who may not use the operation on the object in the path.
func (c *Call) permitted() error {
	if !c.By.May(c.op.Needs) {
		return Refuse(http.StatusForbidden, "you may not do this: the permission %q is needed", c.op.Needs)
	}
	return cmp.Or(c.checkRaised(), c.checkWhole(), c.checkFarm())
}

// answer runs one handler: permission, query, handler. It is the only place where an error
// becomes a response.
func answer[O any](c *Call, handler func(*Call) (O, error)) {
	o, told := c.op, NoteOf(c.Context)
	told.Quiet, told.Keep = o.reads && !o.kept, o.kept && o.Method == http.MethodGet
	body, err := run(c, handler)
	switch {
	case errors.Is(err, apply.ErrDryRun):
		told.Quiet = true
		tried := c.onlyTried()
		tried.Header = http.Header{"Etag": {c.etag}}
		tried.Send(c.response)
	case err != nil:
		r := *RejectionOf(err, false)
		if pending := (*apply.PendingError)(nil); errors.As(r.Cause, &pending) && !c.SeesChange(pending.By.Name) {
			r.Message = pending.Anonymous()
		}
		r.Message, r.Details = c.Discreet(r.Message), c.Discreet(r.Details)
		r.Description, r.Field = cmp.Or(r.Description, o.Summary), cmp.Or(r.Field, o.fieldNamed(&r))
		LogFault(c.host.Log, c.Request, &r)
		told.Message = r.Message
		c.refuse(&r)
	default:
		told.Message, told.Revision = o.Summary, c.Revision
		outputOf(c, body).write(c.response, c.Request)
	}
}

// refuse responds with a rejection, to browsers as a page if the operation has one.
func (c *Call) refuse(r *Rejection) {
	if c.op.page == nil || !c.Browses() {
		r.Send(c.response)
		return
	}
	r.SendPage(c.response, c.op.page(c, r))
}

// do runs the handler and sets the ETag: the revision of the operation's document or of the
// configuration.
func do[O any](c *Call, handler func(*Call) (O, error)) (O, error) {
	d := c.op.about
	switch {
	case d == nil:
		out, err := handler(c)
		c.etag = etag(c.Revision)
		return out, err
	case c.op.Changes():
		return within(d, c, handler)
	}
	c.etag = d.etag() // taken before reading, so the data is at least as new
	return handler(c)
}

func run[O any](c *Call, handler func(*Call) (O, error)) (O, error) {
	var none O
	if err := c.permitted(); err != nil {
		return none, err
	}
	c.collect()
	if err := c.checkQuery(); err != nil {
		return none, err
	}
	if err := c.inTransaction(); err != nil {
		return none, err
	}
	if err := c.onTrial(); err != nil {
		return none, err
	}
	if c.op.knows(forceQuery) {
		force, err := c.Flag(forceQuery)
		if err != nil {
			return none, err
		}
		if force {
			c.Context = apply.Force(c.Context)
		}
	}
	if c.op.Changes() && !c.op.document {
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
