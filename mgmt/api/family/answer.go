package family

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// answer runs the operation and applies change to the body of a success.
func (c *call) answer(change func(body map[string]any)) {
	rec := c.ask(c.r)
	rec.headersTo(c.w)
	body := object(rec.body.Bytes())
	if rec.status >= http.StatusMultipleChoices || body == nil {
		rec.copyTo(c.w)
		return
	}
	change(body)
	c.reply(rec.status, body)
}

// reply responds with a body.
func (c *call) reply(status int, body map[string]any) {
	rest.WriteJSON(c.w, status, body)
}

// farm adds the fields that older clients expect in a farm.
func (c *call) farm(body map[string]any) {
	params, _ := body["params"].(map[string]any)
	if params == nil {
		return
	}
	if port, _ := params["vport"].(string); port != "" {
		if n, err := strconv.Atoi(port); err == nil {
			params["vport"] = n // a number for a single port before 4.0
		}
	}
	if _, own := body["backends"]; own { // farms without services
		c.guarded(params, "")
	}
	for _, s := range list(body["services"]) {
		c.shown(s)
	}
	known(list(body["backends"]))
}

// service adds the fields that older clients expect in a service, at the place where they
// read them.
func (c *call) service(body map[string]any) {
	if s, is := body["services"].(map[string]any); is {
		c.shown(s)
		body["params"] = s
	}
}

// changedService responds to a change of a service with the whole service.
func (c *call) changedService(body map[string]any) {
	if now := c.get(c.r.URL.Path); now != nil {
		c.service(now)
		body["params"] = now["params"]
	}
}

func (c *call) shown(service map[string]any) {
	name, _ := service["id"].(string)
	c.guarded(service, name)
	known(list(service["backends"]))
}

// guarded adds the health check fields of a farm or service in the form before 3.2.
func (c *call) guarded(of map[string]any, service string) {
	if !c.g.inline {
		return
	}
	cfg, _ := c.config(c.r.Context())
	for field, value := range c.inline(cfg, service) {
		of[field] = value
	}
}

// known replaces the status undefined with up, as undefined did not exist before 4.0.
func known(backends []map[string]any) {
	for _, b := range backends {
		if b["status"] == "undefined" {
			b["status"] = "up"
		}
	}
}

// list returns the objects of a list.
func list(of any) (out []map[string]any) {
	items, _ := of.([]any)
	for _, item := range items {
		if o, is := item.(map[string]any); is {
			out = append(out, o)
		}
	}
	return out
}

// get reads a path on behalf of the caller. It returns nil unless the status is 200.
func (c *call) get(path string) map[string]any {
	r := rest.Moved(withBody(c.r, nil), http.MethodGet, path)
	r.URL.RawQuery = ""
	for _, name := range []string{"If-Match", "If-None-Match"} { // these belong to the call itself
		r.Header.Del(name)
	}
	rec := c.ask(r)
	if rec.status != http.StatusOK {
		return nil
	}
	return object(rec.body.Bytes())
}

// ask runs an operation and records its response.
func (c *call) ask(r *http.Request) *recorded {
	rec := &recorded{header: http.Header{}}
	c.next.ServeHTTP(rec, r)
	return rec
}

// recorded is a response in memory.
type recorded struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header, WriteHeader and Write implement http.ResponseWriter.
func (r *recorded) Header() http.Header { return r.header }

func (r *recorded) WriteHeader(status int) { r.status = status }

func (r *recorded) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.body.Write(b)
}

// headersTo copies all headers, including the revision, except the headers about the body.
func (r *recorded) headersTo(w http.ResponseWriter) {
	for name, values := range r.header {
		if name != "Content-Type" && name != "Content-Length" {
			w.Header()[name] = values
		}
	}
}

func (r *recorded) copyTo(w http.ResponseWriter) {
	w.Header()["Content-Type"] = r.header["Content-Type"]
	w.WriteHeader(r.status)
	w.Write(r.body.Bytes())
}

// notFoundWriter holds back a 404 to adapt its message. The family's Go client treats a
// message with "not found" as absence and any other as an error.
type notFoundWriter struct {
	http.ResponseWriter
	asked string // the base of the request
	held  *bytes.Buffer
}

// WriteHeader implements http.ResponseWriter. It holds back a 404.
func (w *notFoundWriter) WriteHeader(status int) {
	if status == http.StatusNotFound && w.held == nil {
		w.held = &bytes.Buffer{}
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *notFoundWriter) Write(b []byte) (int, error) {
	if w.held != nil {
		return w.held.Write(b)
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController access to the connection.
func (w *notFoundWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// end sends the response that was held back.
func (w *notFoundWriter) end() {
	if w.held == nil {
		return
	}
	w.Header().Del("Content-Length")
	if body := object(w.held.Bytes()); body != nil {
		for _, field := range []string{"message", "description"} {
			text, _ := body[field].(string)
			body[field] = strings.ReplaceAll(text, Base, w.asked)
		}
		body["message"] = notFound(body["message"].(string))
		rest.WriteJSON(w.ResponseWriter, http.StatusNotFound, body)
		return
	}
	w.ResponseWriter.WriteHeader(http.StatusNotFound)
	w.ResponseWriter.Write(w.held.Bytes())
}

// notFound prefixes a message about a missing object with "not found", e.g. "Farm not
// found: the farm shop does not exist".
func notFound(message string) string {
	if strings.Contains(message, "not found") {
		return message
	}
	what := "Object"
	if words := strings.Fields(message); len(words) > 1 && words[0] == "the" {
		what = strings.ToUpper(words[1][:1]) + words[1][1:]
	}
	return strings.TrimSuffix(what+" not found: "+message, ": ")
}
