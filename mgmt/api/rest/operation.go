package rest

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/trial"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/suggest"
)

// Methods of operations.
const (
	Get    = http.MethodGet
	Post   = http.MethodPost
	Put    = http.MethodPut
	Delete = http.MethodDelete
)

// Host holds the dependencies common to all operations.
type Host struct {
	Applier Applier
	Log     *slog.Logger
	// Guard creates the guard of a change; nil: guards are unavailable.
	Guard func(trial.Spec) apply.Trial
	// Renew returns the sender of a request with current rights, or false if the credential
	// is no longer valid.
	Renew func(*http.Request, auth.Principal) (auth.Principal, bool)
	// SameCommand reports whether two check commands are equal except for the notation of
	// passwords; nil compares the texts.
	SameCommand func(a, b string) bool
	// Unasked explains why a check cannot probe a backend. waits is true if there is no
	// result since that time. nil: there are no checks.
	Unasked func(backend uint32, check string, since time.Time) (why string, waits bool)
	// Reads holds the operations that read a resource, by path.
	Reads map[string]*Operation
	// Share makes new farms visible to the group of their creator. It stores that with the
	// revision, see apply.Along.
	Share func(c *Call, farms []uint32, commit func(documents map[string]any) error) error
	// Load returns the current traffic for cost estimates; nil: unknown.
	Load func(*Call) Load

	veiled atomic.Pointer[veiled]
}

// Applier is the only writer of the configuration; *apply.Applier implements it.
type Applier interface {
	CurrentIn(ctx context.Context) (*farm.Config, store.Revision)
	// FarmRevision returns the number of the last revision that changed a farm.
	FarmRevision(id uint32) uint64
	Change(ctx context.Context, by apply.Author, comment string, expect uint64, edit func(*farm.Config) error) (apply.Result, error)
	ChangeFarm(ctx context.Context, by apply.Author, comment string, expect uint64, name string, edit func(*farm.Config) error) (apply.Result, error)
}

// Operation is one entry of the table of operations.
type Operation struct {
	Method, Path string // path parameters in braces
	Needs        rbac.Permission
	Summary      string // also the description of responses
	// answer runs the handler of a call and sends the response.
	answer func(*Call)
	// enter adds the operation and its response schema to a document.
	enter func(huma.API)

	success    int
	fields     Fields    // fields of the body, nil without one
	document   bool      // the body is a configuration document
	about      *Document // its document, nil for the configuration
	kinds      []string  // content types of the body, if it is a file
	download   string    // content type of the response, if it is a file
	reads      bool      // it changes nothing, although it is not a GET
	kept       bool      // audited although it only reads
	mayBeEmpty bool      // the body is optional
	whole      bool      // it concerns all farms
	names      bool      // the body names an object that must exist
	edits      bool      // it changes the configuration
	alone      bool      // not allowed in transactions, even if it edits
	outlives   bool      // its result outlives the session that made it
	verifies   bool      // it changes its document within Call.Turn
	queries    []query   // allowed query parameters
	paged      bool      // the response is a list with pages
	filters    []string  // filter fields
	anyQuery   bool      // other query parameters are allowed, too

	// page renders a rejection for browsers; nil: always JSON.
	page func(*Call, *Rejection) []byte
}

// Fields is the part of a field.Table that the OpenAPI document needs.
type Fields interface{ Params() []field.Param }

// query is one query parameter.
type query struct{ name, description string }

// Op returns an operation whose response is an O, as JSON.
func Op[O any](method, path string, needs rbac.Permission, summary string, handler func(*Call) (O, error)) *Operation {
	o := &Operation{Method: method, Path: path, Needs: needs, Summary: summary, success: http.StatusOK}
	var none O
	if l, is := any(&none).(lister); is {
		o.Pages(l.of())
	}
	if o.Changes() {
		o.With(dryRun, "true to show the changes and their impact on traffic without applying them")
	}
	return answeredBy(o, func() huma.Operation { return o.documented(jsonContent) }, handler)
}

// Raw returns an operation whose response is a YAML or JSON document.
func Raw(method, path string, needs rbac.Permission, summary string, handler func(*Call) ([]byte, error)) *Operation {
	o := &Operation{Method: method, Path: path, Needs: needs, Summary: summary, success: http.StatusOK}
	return answeredBy(o, func() huma.Operation { return o.documented(documentContent) }, handler)
}

// File returns an operation whose response is a file of a content type.
func File(method, path string, needs rbac.Permission, summary, kind string, handler func(*Call) ([]byte, error)) *Operation {
	o := &Operation{Method: method, Path: path, Needs: needs, Summary: summary, success: http.StatusOK, download: kind}
	return answeredBy(o, func() huma.Operation { return o.documented(jsonContent) }, func(c *Call) ([]byte, error) {
		c.ContentType = kind
		return handler(c)
	})
}

// answeredBy sets the handler of an operation. tell returns its entry in the document
// without the response schema.
func answeredBy[O any](o *Operation, tell func() huma.Operation, handler func(*Call) (O, error)) *Operation {
	o.answer = func(c *Call) { answer(c, handler) }
	o.enter = entered[O](tell)
	return o
}

// entered returns a function that adds an operation to a document. The library could serve
// it too, but never does.
func entered[O any](tell func() huma.Operation) func(huma.API) {
	return func(api huma.API) {
		huma.Register(api, tell(), func(context.Context, *struct{}) (*output[O], error) { return nil, nil })
	}
}

// Body sets the fields of the body.
func (o *Operation) Body(f Fields) *Operation { o.fields = f; return o }

// Asks declares that the operation is read-only, although it is not a GET.
func (o *Operation) Asks() *Operation { o.reads, o.queries = true, nil; return o }

// MayHaveBody is Body for an optional body.
func (o *Operation) MayHaveBody(f Fields) *Operation {
	o.mayBeEmpty = true
	return o.Body(f)
}

// Audited writes a read-only operation to the audit log.
func (o *Operation) Audited() *Operation { o.kept = true; return o }

// Created sets the status of success to 201.
func (o *Operation) Created() *Operation { o.success = http.StatusCreated; return o }

// OfAll declares that the operation concerns all farms. Callers must see them all.
func (o *Operation) OfAll() *Operation { o.whole = true; return o }

// Refers declares that the body names an object that must exist, so 404 is possible.
func (o *Operation) Refers() *Operation { o.names = true; return o }

// TakesFile declares that the body is a file of one of these content types.
func (o *Operation) TakesFile(kinds []string) *Operation {
	o.kinds = kinds
	return o
}

// TakesDocument declares that the body is a configuration document.
func (o *Operation) TakesDocument() *Operation {
	o.document, o.queries = true, nil // it defines its own dry run
	return o
}

// Edits declares that the operation changes only the configuration. It may be on trial and
// part of a transaction.
func (o *Operation) Edits() *Operation {
	o.edits = true
	return o.With(confirmQuery, "Time limit, e.g. 5m: the change is reverted automatically unless confirmed in time").
		With(guardQuery, "Conditions, e.g. errors<1%,p99<200ms,backends_up>=2: the change is reverted automatically if one is violated, otherwise confirmed").
		With(windowQuery, "Duration of the guard; defaults to 10m")
}

// forceQuery is the query parameter that forces a change.
const forceQuery = "force"

// Forces declares that the operation may break resolvers' trust in a signed zone. It is
// rejected in that case, unless forced.
func (o *Operation) Forces() *Operation {
	return o.With(forceQuery, "true to change a signed zone even if resolvers then reject its names because the parent zone has DS records for other keys")
}

// ForcedIf declares that the operation is rejected in some cases unless forced. meaning
// completes "true to …".
func (o *Operation) ForcedIf(meaning string) *Operation {
	return o.With(forceQuery, "true to "+meaning)
}

// Outlives declares that the operation creates or grants something that outlives its
// session, e.g. a key. A thief of the session must not keep access that way, so the user
// must have proven password and second factor recently, by a login or by POST
// /session/confirm. Requests with a key need only the permission, because the key lasts as
// long as its result.
func (o *Operation) Outlives() *Operation { o.outlives = true; return o }

// NeedsRaised reports whether the operation needs a raised session.
func (o *Operation) NeedsRaised() bool { return o.outlives }

// Alone excludes an editing operation from transactions.
func (o *Operation) Alone() *Operation { o.alone = true; return o }

// With allows a query parameter. It replaces a filter of that name, as the handler reads
// the parameter.
func (o *Operation) With(name, description string) *Operation {
	o.filters = slices.DeleteFunc(o.filters, func(known string) bool { return known == name })
	o.queries = slices.DeleteFunc(o.queries, func(q query) bool { return q.name == name })
	o.queries = append(o.queries, query{name, description})
	return o
}

// ShownInBrowsers sends rejections to browsers as an HTML page.
func (o *Operation) ShownInBrowsers(page func(*Call, *Rejection) []byte) *Operation {
	o.page = page
	return o
}

// AnyQuery allows arbitrary query parameters, e.g. those added by third parties.
func (o *Operation) AnyQuery() *Operation { o.anyQuery = true; return o }

func (o *Operation) knows(name string) bool {
	return o.anyQuery || slices.ContainsFunc(o.queries, func(q query) bool { return q.name == name })
}

// knownQuery suggests a parameter instead of an unknown one, and lists all.
func (o *Operation) knownQuery(unknown string) string {
	if len(o.queries) == 0 {
		return ": none is allowed here"
	}
	names := make([]string, 0, len(o.queries))
	for _, q := range o.queries {
		names = append(names, q.name)
	}
	return suggest.Near(unknown, names) + ": allowed are " + strings.Join(names, ", ")
}

// Changes reports whether the operation changes something.
func (o *Operation) Changes() bool { return o.Method != http.MethodGet && !o.reads }
