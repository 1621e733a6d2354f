package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// operation is one line of the table of operations.
type operation struct {
	method, path string // path parameters in braces
	needs        rbac.Permission
	summary      string // also the description of answers
	success      int
	fields       fields   // the body's fields, nil when there is none
	document     bool     // the body is a configuration document
	kinds        []string // content types of the body when it is a file
	download     string   // content type of the answer when it is a file
	reads        bool     // it changes nothing, though it is no GET
	whole        bool     // it is about all farms
	names        bool     // the body names an object that must exist
	queries      []query  // allowed query parameters
	register     func(huma.API, *Server)
}

// fields is the part of a validate.Table the OpenAPI document is made from.
type fields interface{ Params() []validate.Param }

// query is one query parameter.
type query struct{ name, description string }

// op makes an operation whose answer is an O, as JSON.
func op[O any](method, path string, needs rbac.Permission, summary string, handler func(*call) (O, error)) *operation {
	o := &operation{method: method, path: path, needs: needs, summary: summary, success: http.StatusOK}
	if o.changes() {
		o.with(dryRun, "true to see what would be changed, and what that would cost traffic")
	}
	o.register = func(api huma.API, s *Server) {
		huma.Register(api, o.documented(api, jsonContent), func(ctx context.Context, in *input) (*output[O], error) {
			return answer(ctx, s, o, in, handler)
		})
	}
	return o
}

// raw makes an operation whose answer is a document, YAML or JSON.
func raw(method, path string, needs rbac.Permission, summary string, handler func(*call) ([]byte, error)) *operation {
	o := &operation{method: method, path: path, needs: needs, summary: summary, success: http.StatusOK}
	o.register = func(api huma.API, s *Server) {
		huma.Register(api, o.documented(api, documentContent), func(ctx context.Context, in *input) (*output[[]byte], error) {
			return answer(ctx, s, o, in, handler)
		})
	}
	return o
}

// file makes an operation whose answer is a file of a content type.
func file(method, path string, needs rbac.Permission, summary, kind string, handler func(*call) ([]byte, error)) *operation {
	o := &operation{method: method, path: path, needs: needs, summary: summary, success: http.StatusOK, download: kind}
	o.register = func(api huma.API, s *Server) {
		huma.Register(api, o.documented(api, jsonContent), func(ctx context.Context, in *input) (*output[[]byte], error) {
			return answer(ctx, s, o, in, func(c *call) ([]byte, error) {
				c.contentType = kind
				return handler(c)
			})
		})
	}
	return o
}

func (o *operation) body(f fields) *operation { o.fields = f; return o }
func (o *operation) asks() *operation         { o.reads, o.queries = true, nil; return o }
func (o *operation) created() *operation      { o.success = http.StatusCreated; return o }
func (o *operation) ofAll() *operation        { o.whole = true; return o }
func (o *operation) refers() *operation       { o.names = true; return o }
func (o *operation) takesFile(kinds []string) *operation {
	o.kinds = kinds
	return o
}
func (o *operation) takesDocument() *operation {
	o.document, o.queries = true, nil // says itself what a dry run is
	return o
}
func (o *operation) with(name, description string) *operation {
	o.queries = append(o.queries, query{name, description})
	return o
}

func (o *operation) knows(name string) bool {
	return slices.ContainsFunc(o.queries, func(q query) bool { return q.name == name })
}

func (o *operation) knownQuery() string {
	if len(o.queries) == 0 {
		return ": none is allowed here"
	}
	names := make([]string, 0, len(o.queries))
	for _, q := range o.queries {
		names = append(names, q.name)
	}
	return ": allowed are " + strings.Join(names, ", ")
}

// changes reports whether the operation changes something.
func (o *operation) changes() bool { return o.method != http.MethodGet && !o.reads }

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
	ETag        string `header:"ETag" doc:"Number of the configuration's revision"`
	ContentType string `header:"Content-Type" hidden:"true"`
	Disposition string `header:"Content-Disposition" hidden:"true"`
	Cookie      string `header:"Set-Cookie" hidden:"true"`
	Body        O
}

// answer runs one handler: right, query, handler, and the one place where an
// error becomes an answer.
func answer[O any](ctx context.Context, s *Server, o *operation, in *input, handler func(*call) (O, error)) (*output[O], error) {
	c := &call{ctx: ctx, s: s, op: o, r: humaecho.Unwrap(in.via).Request(), via: in.via, by: principal(ctx)}
	cfg, revision := s.deps.Applier.Current()
	c.cfg, c.revision = cfg, revision.Number
	told := noteOf(ctx)
	told.quiet = o.reads && o.path != sessionPath
	body, err := run(c, handler)
	if errors.Is(err, apply.ErrDryRun) {
		told.quiet = true
		return nil, c.onlyTried()
	}
	if err != nil {
		r := *rejectionOf(err, false)
		r.description = cmp.Or(r.description, o.summary)
		s.logFault(c.r, &r)
		told.message = r.message
		return nil, &r
	}
	told.message, told.revision = o.summary, c.revision
	out := &output[O]{Status: cmp.Or(c.status, o.success), ETag: etag(c.revision), ContentType: c.contentType, Disposition: c.disposition, Cookie: c.cookie, Body: body}
	return out, nil
}

func run[O any](c *call, handler func(*call) (O, error)) (O, error) {
	var none O
	if !c.by.May(c.op.needs) {
		return none, refuse(http.StatusForbidden, "you may not do this: the permission %q is needed", c.op.needs)
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
	if c.op.changes() && !c.op.document {
		dry, err := c.flag(dryRun)
		if err != nil {
			return none, err
		}
		if c.dry = dry; dry {
			c.ctx = apply.DryRun(c.ctx)
		}
	}
	return handler(c)
}

func parseQuery(r *http.Request) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest("the query is broken: allowed is name=value&name=value")
	}
	return values, nil
}

// Route is one line of the table of operations, as tests and tools see it.
type Route struct{ Method, Path, Needs string }

// Routes lists every operation, with paths relative to the base.
func (s *Server) Routes() []Route {
	var out []Route
	for _, o := range s.operations() {
		out = append(out, Route{o.method, o.path, string(o.needs)})
	}
	return out
}
