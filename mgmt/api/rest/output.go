package rest

import (
	"net/http"
	"time"
)

// output is a response. Its tags describe it in the document.
type output[O any] struct {
	Status      int
	ETag        string `header:"ETag" doc:"Revision number of the configuration; data stored beside it has its own revision"`
	ContentType string `header:"Content-Type" hidden:"true"`
	Disposition string `header:"Content-Disposition" hidden:"true"`
	Cookie      string `header:"Set-Cookie" hidden:"true"`
	Location    string `header:"Location" hidden:"true"`
	Confirm     string `header:"Confirm-Before" doc:"End of the confirmation period or guard; the change is then reverted or confirmed"`
	Body        O
}

// outputOf returns the response to a call after its handler.
func outputOf[O any](c *Call, body O) *output[O] {
	out := &output[O]{Status: c.op.success, ETag: c.etag, ContentType: c.ContentType, Disposition: c.disposition, Cookie: c.Cookie, Location: c.Location, Body: body}
	if c.Location != "" {
		out.Status = http.StatusSeeOther
	}
	if c.pending != nil {
		out.Confirm = c.pending.Until.UTC().Format(time.RFC3339)
	}
	return out
}

// write sends the response: a stream, a file, or else JSON. Write errors are ignored,
// because the client has gone.
func (out *output[O]) write(w http.ResponseWriter, r *http.Request) {
	body, isFile := any(out.Body).([]byte)
	_, streams := any(out.Body).(Streamed)
	if !isFile && !streams {
		var err error
		if body, err = encoded(out.Body); err != nil {
			panic(err) // a bug, like any other panic
		}
		out.ContentType = "application/json"
	}
	if r.Method == http.MethodGet && !streams {
		out.ETag = tagOf(out.ETag, body)
	}
	for name, value := range map[string]string{
		"ETag": out.ETag, "Content-Type": out.ContentType, "Content-Disposition": out.Disposition,
		"Set-Cookie": out.Cookie, "Location": out.Location, "Confirm-Before": out.Confirm,
	} {
		if value != "" {
			w.Header().Set(name, value)
		}
	}
	switch {
	case streams:
		any(out.Body).(Streamed)(w)
	case r.Method == http.MethodGet && out.Status == http.StatusOK && !readMatch(r).reads(out.ETag):
		Refuse(http.StatusPreconditionFailed, "it is not what If-Match names any more: read it without").Send(w)
	case r.Method == http.MethodGet && out.Status == http.StatusOK && unchanged(r, out.ETag):
		for _, name := range []string{"Content-Type", "Content-Disposition"} {
			w.Header().Del(name)
		}
		w.WriteHeader(http.StatusNotModified)
	default:
		w.WriteHeader(out.Status)
		_, _ = w.Write(body)
	}
}

// WriteJSON responds with indented, sorted JSON. A value that cannot be encoded is a bug
// and causes a panic.
func WriteJSON(w http.ResponseWriter, status int, body any) {
	b, err := encoded(body)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
