package rest

import (
	"fmt"
	"math"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicelb/sluice/mgmt/validate"
)

// HelpBody is the answer to a body without any field: it lists the fields.
type HelpBody struct {
	Description string           `json:"description"`
	Message     string           `json:"message"`
	Params      []validate.Param `json:"params"`
}

// The content of successful answers.
var (
	jsonContent     = []string{"application/json"}
	documentContent = []string{"application/yaml", "application/json"}
)

var pathParam = regexp.MustCompile(`\{([a-z]+)\}`)

// documented turns the operation into what the OpenAPI document says about it.
// The schema of a JSON answer is added by the router from the handler's type.
func (o *Operation) documented(api huma.API, content []string) huma.Operation {
	d := huma.Operation{
		OperationID:   o.id(),
		Method:        o.Method,
		Path:          o.Path,
		Summary:       o.Summary,
		Description:   fmt.Sprintf("Needs the permission %q.", o.Needs),
		Tags:          []string{strings.Split(o.Path, "/")[1]},
		DefaultStatus: o.success,
		Parameters:    o.parameters(),
		Responses:     o.responses(api.OpenAPI().Components.Schemas, content),
		Security:      []map[string][]string{{"key": {}}, {"keyAlternative": {}}},
	}
	return d
}

var notWord = regexp.MustCompile(`[^a-z0-9]+`)

func (o *Operation) id() string {
	return strings.ToLower(o.Method) + strings.TrimSuffix(notWord.ReplaceAllString(strings.ToLower(o.Path), "-"), "-")
}

func (o *Operation) parameters() []*huma.Param {
	var out []*huma.Param
	for _, m := range pathParam.FindAllStringSubmatch(o.Path, -1) {
		out = append(out, &huma.Param{Name: m[1], In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	for _, q := range o.queries {
		out = append(out, &huma.Param{Name: q.name, In: "query", Description: q.description, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	if o.changes() {
		out = append(out, &huma.Param{Name: "If-Match", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
			Description: o.ifMatch()},
			&huma.Param{Name: "Idempotency-Key", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
				Description: "A text of the client's choice: the same request with the same text happens once, and is answered alike, for ten minutes."})
	}
	return out
}

// ifMatch says what If-Match is for.
func (o *Operation) ifMatch() string {
	if o.about != nil {
		return "ETag of an earlier answer about the same; 412 when " + o.about.name + " are others by now."
	}
	return "ETag of an earlier answer; 412 when the configuration is another one by now."
}

// rejections lists the statuses an operation may refuse with, besides 500.
func (o *Operation) rejections() []int {
	out := []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}
	if strings.Contains(o.Path, "{") || o.names {
		out = append(out, http.StatusNotFound)
	}
	if o.changes() {
		out = append(out, http.StatusConflict, http.StatusPreconditionFailed, http.StatusServiceUnavailable)
	}
	if o.fields != nil || o.document || o.kinds != nil {
		out = append(out, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	return out
}

func (o *Operation) responses(schemas huma.Registry, content []string) map[string]*huma.Response {
	body := map[string]*huma.MediaType{"application/json": {Schema: schemas.Schema(reflect.TypeFor[ErrorBody](), true, "")}}
	out := map[string]*huma.Response{"default": {Description: "Any other rejection", Content: body}}
	for _, status := range o.rejections() {
		out[strconv.Itoa(status)] = &huma.Response{Description: http.StatusText(status), Content: body}
	}
	if o.fields != nil {
		help := schemas.Schema(reflect.TypeFor[HelpBody](), true, "")
		out["400"].Content = map[string]*huma.MediaType{"application/json": {
			Schema: &huma.Schema{AnyOf: []*huma.Schema{body["application/json"].Schema, help}}}}
	}
	if o.download != "" {
		out[strconv.Itoa(o.success)] = &huma.Response{Description: http.StatusText(o.success), Content: map[string]*huma.MediaType{o.download: fileMedia}}
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

func documentMedia(kind string) *huma.MediaType {
	if kind == "application/json" {
		return &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeObject, Description: "A configuration document"}}
	}
	return &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Description: "A configuration document"}}
}

var fileMedia = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}

// DescribeBody adds the request body to the document. The router must not know
// of it: it would read and check the body by its own rules.
func (o *Operation) DescribeBody(doc *huma.OpenAPI) {
	at := doc.Paths[o.Path].Put
	if o.Method == http.MethodPost {
		at = doc.Paths[o.Path].Post
	}
	switch {
	case o.document:
		at.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{}}
		for _, kind := range DocumentTypes {
			at.RequestBody.Content[kind] = documentMedia(kind)
		}
	case o.kinds != nil:
		at.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{}}
		for _, kind := range o.kinds {
			at.RequestBody.Content[kind] = fileMedia
		}
	case o.fields != nil:
		media := &huma.MediaType{Schema: schemaOf(o.fields.Params(), !o.mayBeEmpty)}
		at.RequestBody = &huma.RequestBody{Required: !o.mayBeEmpty, Content: map[string]*huma.MediaType{}}
		for _, kind := range jsonTypes {
			at.RequestBody.Content[kind] = media
		}
	}
}

// schemaOf turns a table of fields into the schema of the body.
func schemaOf(params []validate.Param, some bool) *huma.Schema {
	out := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{}, AdditionalProperties: false}
	if one := 1; some {
		out.MinProperties = &one
	}
	for _, p := range params {
		out.Properties[p.Name] = joined(out.Properties[p.Name], fieldSchema(p))
		if slices.Contains(p.Options, "required") {
			out.Required = append(out.Required, p.Name)
		}
	}
	return out
}

// joined is a field that comes twice, in bodies about two profiles: it takes what
// either takes.
func joined(a, b *huma.Schema) *huma.Schema {
	if a == nil || reflect.DeepEqual(a, b) {
		return b
	}
	out := &huma.Schema{Description: a.Description, AnyOf: slices.Clone(a.AnyOf)}
	if a.Description != b.Description {
		out.Description += " In farms of another profile: " + b.Description
	}
	for _, one := range b.AnyOf {
		if !slices.ContainsFunc(out.AnyOf, func(s *huma.Schema) bool { return reflect.DeepEqual(s, one) }) {
			out.AnyOf = append(out.AnyOf, one)
		}
	}
	return out
}

// fieldSchema says what one field takes: numbers as numbers or digits, truth
// values as such or as text, null where it resets.
func fieldSchema(p validate.Param) *huma.Schema {
	alternatives := []*huma.Schema{}
	switch {
	case slices.Contains(p.Options, "list"):
		item := words(p.PossibleValues)
		alternatives = append(alternatives, &huma.Schema{Type: huma.TypeArray, Items: item}, item)
	case p.Format != "integer" && p.Format != "" && p.Interval != "": // a text that may be a number
		alternatives = append(alternatives, interval(p.Interval), &huma.Schema{Type: huma.TypeString})
	case p.Format == "integer" || p.Interval != "":
		alternatives = append(alternatives, interval(p.Interval), &huma.Schema{Type: huma.TypeString, Pattern: `^-?[0-9]+$`})
	case isBool(p):
		alternatives = append(alternatives, &huma.Schema{Type: huma.TypeBoolean}, words(p.PossibleValues))
	case p.PossibleValues != nil:
		alternatives = append(alternatives, words(p.PossibleValues))
		if slices.ContainsFunc(p.PossibleValues, isNumber) {
			alternatives = append(alternatives, &huma.Schema{Type: huma.TypeInteger})
		}
		if slices.ContainsFunc(p.PossibleValues, isTruth) {
			alternatives = append(alternatives, &huma.Schema{Type: huma.TypeBoolean})
		}
	default:
		alternatives = append(alternatives, &huma.Schema{Type: huma.TypeString})
	}
	if !slices.Contains(p.Options, "non_blank") {
		alternatives = append(alternatives, &huma.Schema{Type: "null"}, words([]string{""}))
	}
	if slices.Contains(p.Options, "null") {
		alternatives = append(alternatives, &huma.Schema{Type: "null"})
	}
	about := p.Description
	if p.Format != "" && p.Format != "integer" {
		about += " Form: " + p.Format + "."
	}
	return &huma.Schema{Description: strings.TrimSpace(about), AnyOf: alternatives}
}

func isBool(p validate.Param) bool {
	return len(p.PossibleValues) > 0 && !slices.ContainsFunc(p.PossibleValues, func(v string) bool { return !isTruth(v) })
}

func isTruth(v string) bool { return v == "true" || v == "false" }

func isNumber(v string) bool { _, err := strconv.Atoi(v); return err == nil }

func words(values []string) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, v := range values {
		s.Enum = append(s.Enum, v)
	}
	return s
}

// interval reads the family's "1,9" and "0,".
func interval(text string) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeInteger}
	low, high, _ := strings.Cut(text, ",")
	s.Minimum, s.Maximum = bound(low), bound(high)
	return s
}

func bound(text string) *float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(n, 0) {
		return nil
	}
	return &n
}
