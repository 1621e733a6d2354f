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
		http.StatusBadRequest:            "Something about the request is wrong. The message says what, and what is allowed.",
		http.StatusUnauthorized:          "No credential, or a wrong one.",
		http.StatusForbidden:             "The credential lacks the permission.",
		http.StatusNotFound:              "Something the path or the body names does not exist.",
		http.StatusConflict:              "The state of the appliance does not allow it, or the Idempotency-Key was used for another request.",
		http.StatusPreconditionFailed:    "If-Match names another revision than the current one: read again, and repeat the change.",
		http.StatusRequestEntityTooLarge: "The body is too large.",
		http.StatusUnsupportedMediaType:  "The body is of a type, or in a coding, that is not read here.",
		http.StatusTooManyRequests:       "Too many wrong credentials came from this address: wait as long as Retry-After says.",
		http.StatusInternalServerError:   "A fault of the appliance, which its log describes. Nothing was changed.",
		http.StatusServiceUnavailable:    "Something that is needed does not answer now. Nothing was changed: try again.",
		http.StatusInsufficientStorage:   "The disk is full or cannot be written. Nothing was changed.",
	}
}

// describeComponents adds the components that operations share.
func describeComponents(doc *huma.OpenAPI) {
	schemas := doc.Components.Schemas
	refused := schemas.Schema(reflect.TypeFor[ErrorBody](), true, "")
	help := schemas.Schema(reflect.TypeFor[HelpBody](), true, "")
	doc.Components.Responses = map[string]*huma.Response{
		helpName: {Description: "Something about the request is wrong; or its body is empty, and the answer lists the fields it could have.",
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
			Description: "ETag of an earlier response about the same resource or about the farm or list that contains it. 412 if that changed since."},
		"Idempotency-Key": {Name: "Idempotency-Key", In: "header", Example: "6f1c0d3e", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: positive(MaxIdempotencyKey)},
			Description: "A text of the client's choice: the same request with the same text happens once, and is answered alike, for ten minutes."},
	}
	doc.Components.Headers = map[string]*huma.Header{
		"ETag":                {Description: "Number of the configuration's revision; what is kept beside it has none here", Schema: &huma.Schema{Type: huma.TypeString}},
		"Retry-After":         {Description: "Seconds to wait", Schema: &huma.Schema{Type: huma.TypeInteger}},
		"Idempotent-Replayed": {Description: "true when this is the answer to an earlier request with the same Idempotency-Key", Schema: &huma.Schema{Type: huma.TypeString}},
		"Set-Cookie":          {Description: "The cookie of the session", Schema: &huma.Schema{Type: huma.TypeString}},
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
		"keyAlternative": {Type: "apiKey", In: "header", Name: "ZAPI-KEY", Description: "An API key, in the spelling of the family's command line"},
		"session":        {Type: "apiKey", In: "cookie", Name: "CGISESSID", Description: "A session that was begun with POST /session"},
		"password":       {Type: "http", Scheme: "basic", Description: "Name and password of a user, to begin a session"},
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
