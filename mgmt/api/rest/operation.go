package rest

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/trial"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// The methods of operations.
const (
	Get    = http.MethodGet
	Post   = http.MethodPost
	Put    = http.MethodPut
	Delete = http.MethodDelete
)

// Host is who serves operations: what each of them stands on, whatever it is about.
type Host struct {
	Applier Applier
	Log     *slog.Logger
	// Guard makes a guard part of a change; nil: there are none.
	Guard func(trial.Spec) apply.Trial
	// Renew returns the sender of a request with the rights of now, false when the
	// credential holds no more.
	Renew func(*http.Request, auth.Principal) (auth.Principal, bool)
	// SameCommand reports whether two commands of checks ask the same, however their
	// passwords are written; nil compares the texts.
	SameCommand func(a, b string) bool
	// Reads are the operations that read a resource, by path.
	Reads map[string]*Operation
	// Load tells what changes cost now; nil: nothing is known of it.
	Load func(*Call) Load

	veiled atomic.Pointer[veiled]
}

// Applier is the one writer of the configuration; *apply.Applier is one.
type Applier interface {
	CurrentIn(ctx context.Context) (*farm.Config, store.Revision)
	// FarmRevision returns the number of the revision that changed a farm last.
	FarmRevision(id uint32) uint64
	Change(ctx context.Context, by apply.Author, comment string, expect uint64, edit func(*farm.Config) error) (apply.Result, error)
	ChangeFarm(ctx context.Context, by apply.Author, comment string, expect uint64, name string, edit func(*farm.Config) error) (apply.Result, error)
}

// Operation is one line of the table of operations.
type Operation struct {
	Method, Path string // path parameters in braces
	Needs        rbac.Permission
	Summary      string // also the description of answers
	// answer runs the handler of a call, and answers its client.
	answer func(*Call)
	// enter adds it to a document, with the schema of its answers.
	enter func(huma.API)

	success    int
	fields     Fields    // the body's fields, nil when there is none
	document   bool      // the body is a configuration document
	about      *Document // what it is about, nil for the configuration
	kinds      []string  // content types of the body when it is a file
	download   string    // content type of the answer when it is a file
	reads      bool      // it changes nothing, though it is no GET
	kept       bool      // the audit log has it, though it only reads
	mayBeEmpty bool      // the body may be left out
	whole      bool      // it is about all farms
	names      bool      // the body names an object that must exist
	edits      bool      // it changes the configuration
	alone      bool      // no transaction can have it all the same
	outlives   bool      // what it makes outlives the session that made it
	queries    []query   // allowed query parameters
	paged      bool      // the answer is a list that can be had in parts
	filters    []string  // fields by which it can be had
	anyQuery   bool      // others are allowed, too

	// page is what a browser is shown of a rejection; nil: JSON, as everybody.
	page func(*Call, *Rejection) []byte
}

// Fields is the part of a validate.Table the OpenAPI document is made from.
type Fields interface{ Params() []validate.Param }

// query is one query parameter.
type query struct{ name, description string }

// Op makes an operation whose answer is an O, as JSON.
func Op[O any](method, path string, needs rbac.Permission, summary string, handler func(*Call) (O, error)) *Operation {
	o := &Operation{Method: method, Path: path, Needs: needs, Summary: summary, success: http.StatusOK}
	var none O
	if l, is := any(&none).(lister); is {
		o.Pages(l.of())
	}
	if o.Changes() {
		o.With(dryRun, "true to see what would be changed, and what that would cost traffic")
	}
	return answeredBy(o, func() huma.Operation { return o.documented(jsonContent) }, handler)
}

// Raw makes an operation whose answer is a document, YAML or JSON.
func Raw(method, path string, needs rbac.Permission, summary string, handler func(*Call) ([]byte, error)) *Operation {
	o := &Operation{Method: method, Path: path, Needs: needs, Summary: summary, success: http.StatusOK}
	return answeredBy(o, func() huma.Operation { return o.documented(documentContent) }, handler)
}

// File makes an operation whose answer is a file of a content type.
func File(method, path string, needs rbac.Permission, summary, kind string, handler func(*Call) ([]byte, error)) *Operation {
	o := &Operation{Method: method, Path: path, Needs: needs, Summary: summary, success: http.StatusOK, download: kind}
	return answeredBy(o, func() huma.Operation { return o.documented(jsonContent) }, func(c *Call) ([]byte, error) {
		c.ContentType = kind
		return handler(c)
	})
}

// answeredBy gives an operation its handler; tell is what a document has about it
// besides the answer's schema.
func answeredBy[O any](o *Operation, tell func() huma.Operation, handler func(*Call) (O, error)) *Operation {
	o.answer = func(c *Call) { answer(c, handler) }
	o.enter = entered[O](tell)
	return o
}

// entered adds an operation to a document. The library would serve it, too; nobody asks
// it to.
func entered[O any](tell func() huma.Operation) func(huma.API) {
	return func(api huma.API) {
		huma.Register(api, tell(), func(context.Context, *struct{}) (*output[O], error) { return nil, nil })
	}
}

// Body says which fields the body has.
func (o *Operation) Body(f Fields) *Operation { o.fields = f; return o }

// Asks says that the operation changes nothing, though it is no GET.
func (o *Operation) Asks() *Operation { o.reads, o.queries = true, nil; return o }

// MayHaveBody is body for one that may be left out.
func (o *Operation) MayHaveBody(f Fields) *Operation {
	o.mayBeEmpty = true
	return o.Body(f)
}

// Audited puts an operation that asks into the audit log all the same.
func (o *Operation) Audited() *Operation { o.kept = true; return o }

// Created makes the status of success 201.
func (o *Operation) Created() *Operation { o.success = http.StatusCreated; return o }

// OfAll says that the operation is about all farms: who does not see them all may not.
func (o *Operation) OfAll() *Operation { o.whole = true; return o }

// Refers says that the body names an object that must exist: 404 is possible.
func (o *Operation) Refers() *Operation { o.names = true; return o }

// TakesFile says that the body is a file of one of these content types.
func (o *Operation) TakesFile(kinds []string) *Operation {
	o.kinds = kinds
	return o
}

// TakesDocument says that the body is a configuration document.
func (o *Operation) TakesDocument() *Operation {
	o.document, o.queries = true, nil // says itself what a dry run is
	return o
}

// Edits says that the operation changes the configuration, and does nothing else: it
// may be on trial, and part of a transaction.
func (o *Operation) Edits() *Operation {
	o.edits = true
	return o.With(confirmQuery, "Time, as 5m: the change goes back by itself unless it is confirmed within it").
		With(guardQuery, "Conditions, as errors<1%,p99<200ms,backends_up>=2: the change goes back by itself when one is broken, otherwise it is confirmed").
		With(windowQuery, "How long the guard watches, 10m when not given")
}

// forceQuery is the query parameter of changes that may be forced.
const forceQuery = "force"

// Forces says that the operation may end the trust of resolvers in a signed zone, which is
// refused unless it is forced.
func (o *Operation) Forces() *Operation {
	return o.With(forceQuery, "true to change a signed zone although resolvers reject its names afterwards, because the parent zone has DS records for other keys")
}

// ForcedIf says that the operation is refused in some cases unless it is forced, with which
// meaning.
func (o *Operation) ForcedIf(meaning string) *Operation {
	return o.With(forceQuery, "true to "+meaning)
}

// Outlives says that the operation creates or grants something that outlives the session
// it is called in, e.g. a key. A thief of the session must not keep access that way, so
// the user must have shown password and second factor lately: by a login or by POST
// /session/confirm. Requests with a key need only the permission, because the key lasts
// as long as its result.
func (o *Operation) Outlives() *Operation { o.outlives = true; return o }

// NeedsRaised reports whether a session must be raised for the operation.
func (o *Operation) NeedsRaised() bool { return o.outlives }

// Alone says that no transaction can have an operation that edits.
func (o *Operation) Alone() *Operation { o.alone = true; return o }

// With allows a query parameter. A filter of that name is replaced: the handler reads it.
func (o *Operation) With(name, description string) *Operation {
	o.filters = slices.DeleteFunc(o.filters, func(known string) bool { return known == name })
	o.queries = slices.DeleteFunc(o.queries, func(q query) bool { return q.name == name })
	o.queries = append(o.queries, query{name, description})
	return o
}

// ShownInBrowsers has people who come with a browser shown a page when they are refused.
func (o *Operation) ShownInBrowsers(page func(*Call, *Rejection) []byte) *Operation {
	o.page = page
	return o
}

// AnyQuery allows query parameters of others, who add what they like.
func (o *Operation) AnyQuery() *Operation { o.anyQuery = true; return o }

func (o *Operation) knows(name string) bool {
	return o.anyQuery || slices.ContainsFunc(o.queries, func(q query) bool { return q.name == name })
}

func (o *Operation) knownQuery() string {
	if len(o.queries) == 0 {
		return ": none is allowed here"
	}
	names := make([]string, 0, len(o.queries))
	for _, q := range o.queries {
		names = append(names, q.name)
	}
	return ": allowed are " + strings.Join(names, ", ")
}

// Changes reports whether the operation changes something.
func (o *Operation) Changes() bool { return o.Method != http.MethodGet && !o.reads }
