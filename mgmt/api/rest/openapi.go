package rest

import (
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// HelpBody is the response to an empty body. It lists the possible fields.
type HelpBody struct {
	Description string        `json:"description"`
	Message     string        `json:"message"`
	Params      []field.Param `json:"params"`
}

// Content types of successful responses.
var (
	jsonContent     = []string{"application/json"}
	documentContent = []string{"application/yaml", "application/json"}
)

var pathParam = regexp.MustCompile(`\{([a-z]+)\}`)

// documented returns the operation's entry in the OpenAPI document. The library adds the
// schema of a JSON response from the handler's type. describe adds the bodies and the
// results of dry runs.
func (o *Operation) documented(content []string) huma.Operation {
	return huma.Operation{
		OperationID:   o.id(),
		Method:        o.Method,
		Path:          o.Path,
		Summary:       o.Summary,
		Description:   o.told(),
		Tags:          []string{strings.Split(o.Path, "/")[1]},
		DefaultStatus: o.success,
		Parameters:    o.parameters(),
		Responses:     o.responses(content),
		Security:      o.security(),
		Extensions:    o.rights(),
	}
}

// rights returns extensions of the document for clients that offer only permitted
// operations: x-permission, and x-all-farms if the user must see all farms.
func (o *Operation) rights() map[string]any {
	out := map[string]any{"x-permission": o.Needs}
	if o.Whole() {
		out["x-all-farms"] = true
	}
	return out
}

func (o *Operation) told() string {
	text := fmt.Sprintf("Requires the permission %q.", o.Needs)
	if o.Whole() {
		text += " Only for users with access to all farms."
	}
	if o.page != nil {
		text += " A rejected browser (Accept: text/html) gets an error page."
	}
	return text
}

var notWord = regexp.MustCompile(`[^a-z0-9]+`)

func (o *Operation) id() string {
	return strings.ToLower(o.Method) + strings.TrimSuffix(notWord.ReplaceAllString(strings.ToLower(o.Path), "-"), "-")
}

func (o *Operation) parameters() []*huma.Param {
	var out []*huma.Param
	for _, m := range pathParam.FindAllStringSubmatch(o.Path, -1) {
		out = append(out, pathParameter(m[1]))
	}
	for _, q := range o.queries {
		out = append(out, queryParameter(q))
	}
	if o.Changes() {
		out = append(out, &huma.Param{Ref: parameterRef + "If-Match"}, &huma.Param{Ref: parameterRef + "Idempotency-Key"})
	}
	return out
}

// rejections lists the statuses of an operation's rejections.
func (o *Operation) rejections() []int {
	out := []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable}
	if o.Changes() {
		out = append(out, http.StatusConflict, http.StatusPreconditionFailed, http.StatusInsufficientStorage)
	}
	if o.reads {
		out = append(out, http.StatusConflict)
	}
	if o.fields != nil || o.document || o.kinds != nil {
		out = append(out, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	return out
}

func (o *Operation) responses(content []string) map[string]*huma.Response {
	out := map[string]*huma.Response{}
	for _, status := range o.rejections() {
		out[strconv.Itoa(status)] = &huma.Response{Ref: responseRef + rejectionName(status)}
	}
	if o.fields != nil {
		out["400"] = &huma.Response{Ref: responseRef + helpName}
	}
	if o.download != "" {
		out[strconv.Itoa(o.success)] = &huma.Response{Description: http.StatusText(o.success), Headers: downloadHeaders(), Content: map[string]*huma.MediaType{bare(o.download): fileMedia}}
	}
	if len(content) > 1 {
		success := &huma.Response{Description: http.StatusText(o.success), Content: map[string]*huma.MediaType{}}
		for _, kind := range content {
			success.Content[kind] = documentMedia(kind)
		}
		out[strconv.Itoa(o.success)] = success
	}
	return out
}

// sessionPath is the path of login and logout.
const sessionPath = "/session"

// bare returns a content type without parameters.
func bare(kind string) string { kind, _, _ = strings.Cut(kind, ";"); return kind }

func documentMedia(kind string) *huma.MediaType {
	if kind == "application/json" {
		return &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeObject, Description: "A configuration document", AdditionalProperties: true}}
	}
	return &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Description: "A configuration document"}}
}

var fileMedia = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}

// Describe builds the OpenAPI document of operations served below base. It is large and
// rarely requested twice, so nothing is cached.
func Describe(base, version string, operations []*Operation) *OpenAPI {
	doc := &OpenAPI{
		OpenAPI: "3.1.0",
		Info:    &huma.Info{Title: "Sluice", Version: version},
		Servers: []*huma.Server{{URL: base}},
		Components: &huma.Components{
			Schemas:         huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
			SecuritySchemes: SecuritySchemes(),
		},
	}
	api := huma.NewAPI(huma.Config{OpenAPI: doc, DefaultFormat: "application/json", Formats: map[string]huma.Format{"application/json": {}}}, nowhere{})
	for _, o := range operations {
		o.enter(api)
	}
	for _, o := range operations {
		o.describe(doc)
	}
	describeComponents(doc)
	return doc
}

// nowhere is the router of a document; it serves nothing.
type nowhere struct{}

func (nowhere) Handle(*huma.Operation, func(huma.Context)) {}

func (nowhere) ServeHTTP(http.ResponseWriter, *http.Request) {}

// Lists in responses are empty, never null. This library setting is global to the process,
// and documents may be built concurrently.
func init() { huma.DefaultArrayNullable = false }

// describe adds what the library must not see: the body, which the library would otherwise
// read, and the result of a dry run.
func (o *Operation) describe(doc *huma.OpenAPI) {
	at := doc.Paths[o.Path].Put
	switch o.Method {
	case http.MethodGet:
		return
	case http.MethodPost:
		at = doc.Paths[o.Path].Post
	case http.MethodDelete:
		at = doc.Paths[o.Path].Delete
	}
	at.RequestBody = o.requestBody(doc.Components.Schemas)
	if o.knows(dryRun) && !o.document {
		o.describeTrial(doc.Components.Schemas, at)
	}
	if o.Changes() {
		success := at.Responses[strconv.Itoa(o.success)]
		success.Headers["Idempotent-Replayed"] = &huma.Param{Ref: headerRef + "Idempotent-Replayed"}
	}
	if o.Path == sessionPath {
		at.Responses["200"].Headers["Set-Cookie"] = &huma.Param{Ref: headerRef + "Set-Cookie"}
	}
}

// describeTrial describes the response to a dry run.
func (o *Operation) describeTrial(schemas huma.Registry, at *huma.Operation) {
	trial := schemas.Schema(reflect.TypeFor[Object[DryRun]](), true, "")
	tried := at.Responses["200"]
	if tried == nil {
		at.Responses["200"] = &huma.Response{Description: "Dry run", Headers: map[string]*huma.Param{"ETag": {Ref: headerRef + "ETag"}},
			Content: map[string]*huma.MediaType{"application/json": {Schema: trial}}}
		return
	}
	media := tried.Content["application/json"]
	media.Schema = &huma.Schema{AnyOf: []*huma.Schema{media.Schema, trial}}
}

func (o *Operation) requestBody(schemas huma.Registry) *huma.RequestBody {
	content := map[string]*huma.MediaType{}
	switch {
	case o.document:
		for _, kind := range DocumentTypes {
			content[kind] = documentMedia(kind)
		}
	case o.kinds != nil:
		for _, kind := range o.kinds {
			content[kind] = fileMedia
		}
	case o.fields != nil:
		content["application/json"] = o.fieldsMedia(schemas)
	default:
		return nil
	}
	return &huma.RequestBody{Required: !o.mayBeEmpty, Content: content}
}
