package rest

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

const (
	parameterRef = "#/components/parameters/"
	responseRef  = "#/components/responses/"
	headerRef    = "#/components/headers/"
	// helpName is the response to an empty or invalid body.
	helpName = "BadRequestOrHelp"
)

// MaxIdempotencyKey bounds the header Idempotency-Key, in bytes.
const MaxIdempotencyKey = 128

// rejectionName returns the name of the response with that status.
func rejectionName(status int) string { return strings.ReplaceAll(http.StatusText(status), " ", "") }

// reasons explains each rejection status.
func reasons() map[int]string {
	return map[int]string{
		http.StatusBadRequest:            "Invalid request. The message states the problem and the allowed values.",
		http.StatusUnauthorized:          "Missing or invalid credentials.",
		http.StatusForbidden:             "The user lacks the permission.",
		http.StatusNotFound:              "An object named in the path or body does not exist.",
		http.StatusConflict:              "The state of the appliance does not allow it, or the Idempotency-Key was used for another request.",
		http.StatusPreconditionFailed:    "If-Match does not name the current revision: read the resource again and repeat the change.",
		http.StatusRequestEntityTooLarge: "The body is too large.",
		http.StatusUnsupportedMediaType:  "The media type or encoding of the body is not supported.",
		http.StatusTooManyRequests:       "Too many failed authentication attempts from this address: wait for the time given in Retry-After.",
		http.StatusInternalServerError:   "Internal error, described in the log of the appliance. Nothing was changed.",
		http.StatusServiceUnavailable:    "A required component does not respond at the moment. Nothing was changed: try again.",
		http.StatusInsufficientStorage:   "The disk is full or not writable. Nothing was changed.",
	}
}

// describeComponents adds the components that operations share.
func describeComponents(doc *huma.OpenAPI) {
	schemas := doc.Components.Schemas
	refused := schemas.Schema(reflect.TypeFor[ErrorBody](), true, "")
	help := schemas.Schema(reflect.TypeFor[HelpBody](), true, "")
	doc.Components.Responses = map[string]*huma.Response{
		helpName: {Description: "Invalid request; for an empty body, the response lists the possible fields.",
			Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{AnyOf: []*huma.Schema{refused, help}}}}},
	}
	for status, text := range reasons() {
		r := &huma.Response{Description: text, Content: map[string]*huma.MediaType{"application/json": {Schema: refused}}}
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
			r.Headers = map[string]*huma.Param{"Retry-After": {Ref: headerRef + "Retry-After"}}
		}
		doc.Components.Responses[rejectionName(status)] = r
	}
	doc.Components.Parameters = map[string]*huma.Param{
		"If-Match": {Name: "If-Match", In: "header", Example: `"7"`, Schema: &huma.Schema{Type: huma.TypeString},
			Description: "ETag of an earlier response for the same resource or for the farm or list that contains it. Returns 412 if it has changed since."},
		"Idempotency-Key": {Name: "Idempotency-Key", In: "header", Example: "6f1c0d3e", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: positive(MaxIdempotencyKey)},
			Description: "Text chosen by the client. For ten minutes, a repeated request with the same text is executed only once and gets the same response."},
	}
	doc.Components.Headers = map[string]*huma.Header{
		"ETag":                {Description: "Revision number of the configuration; absent for data stored beside it", Schema: &huma.Schema{Type: huma.TypeString}},
		"Retry-After":         {Description: "Number of seconds to wait", Schema: &huma.Schema{Type: huma.TypeInteger}},
		"Idempotent-Replayed": {Description: "true if this is the response to an earlier request with the same Idempotency-Key", Schema: &huma.Schema{Type: huma.TypeString}},
		"Set-Cookie":          {Description: "Session cookie", Schema: &huma.Schema{Type: huma.TypeString}},
		"Content-Disposition": {Description: "Name of the file", Schema: &huma.Schema{Type: huma.TypeString}},
		"Content-Length":      {Description: "Bytes of the file", Schema: &huma.Schema{Type: huma.TypeInteger}},
	}
	describeProperties(schemas)
}

func downloadHeaders() map[string]*huma.Param {
	return map[string]*huma.Param{
		"Content-Disposition": {Ref: headerRef + "Content-Disposition"}, "Content-Length": {Ref: headerRef + "Content-Length"},
	}
}

// SecuritySchemes returns the supported credentials.
func SecuritySchemes() map[string]*huma.SecurityScheme {
	return map[string]*huma.SecurityScheme{
		"key":            {Type: "apiKey", In: "header", Name: "ZAPI_KEY", Description: "An API key"},
		"keyAlternative": {Type: "apiKey", In: "header", Name: "ZAPI-KEY", Description: "API key, in the spelling of the compatible command line"},
		"session":        {Type: "apiKey", In: "cookie", Name: "CGISESSID", Description: "Session created with POST /session"},
		"password":       {Type: "http", Scheme: "basic", Description: "Name and password of a user, to create a session"},
	}
}

// security lists the credentials that an operation accepts.
func (o *Operation) security() []map[string][]string {
	switch {
	case o.Path != sessionPath:
		return []map[string][]string{{"key": {}}, {"keyAlternative": {}}, {"session": {}}}
	case o.Method == http.MethodPost:
		return []map[string][]string{{"password": {}}}
	}
	return []map[string][]string{{"session": {}}}
}
