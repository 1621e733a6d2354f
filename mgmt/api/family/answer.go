package family

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// answer has the operation answer, and change what it says where it is a success.
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

// reply answers with a body.
func (c *call) reply(status int, body map[string]any) {
	rest.WriteJSON(c.w, status, body)
}

// farm adds to a farm what older clients read of it.
func (c *call) farm(body map[string]any) {
	params, _ := body["params"].(map[string]any)
	if params == nil {
		return
	}
	if port, _ := params["vport"].(string); port != "" {
		if n, err := strconv.Atoi(port); err == nil {
			params["vport"] = n // of one port, before 4.0
		}
	}
	if _, own := body["backends"]; own { // not of services
		c.guarded(params, "")
	}
	for _, s := range list(body["services"]) {
		c.shown(s)
	}
	known(list(body["backends"]))
}

// service adds to a service what older clients read of it, and has it where they look.
func (c *call) service(body map[string]any) {
	if s, is := body["services"].(map[string]any); is {
		c.shown(s)
		body["params"] = s
	}
}

// changedService says of a service that was changed all there is to say.
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

// guarded has the health check of a farm, or of a service of it, where it was before 3.2.
func (c *call) guarded(of map[string]any, service string) {
	if !c.g.inline {
		return
	}
	cfg, _ := c.config(c.r.Context())
	for field, value := range c.inline(cfg, service) {
		of[field] = value
	}
}

// known says up of backends nobody has asked yet: before 4.0 there was no word for them.
func known(backends []map[string]any) {
	for _, b := range backends {
		if b["status"] == "undefined" {
			b["status"] = "up"
		}
	}
}

// list are the objects of a list.
func list(of any) (out []map[string]any) {
	items, _ := of.([]any)
	for _, item := range items {
		if o, is := item.(map[string]any); is {
			out = append(out, o)
		}
	}
	return out
}

// get reads a path in the name of who asks; nil for what is not answered well.
func (c *call) get(path string) map[string]any {
	r := rest.Moved(withBody(c.r, nil), http.MethodGet, path)
	r.URL.RawQuery = ""
	for _, name := range []string{"If-Match", "If-None-Match"} { // of the call itself
		r.Header.Del(name)
	}
	rec := c.ask(r)
	if rec.status != http.StatusOK {
		return nil
	}
	return object(rec.body.Bytes())
}

// ask has an operation answer into memory.
func (c *call) ask(r *http.Request) *recorded {
	rec := &recorded{header: http.Header{}}
	c.next.ServeHTTP(rec, r)
	return rec
}

// recorded is an answer in memory.
type recorded struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header, WriteHeader and Write make it what an operation answers to.
func (r *recorded) Header() http.Header { return r.header }

func (r *recorded) WriteHeader(status int) { r.status = status }

func (r *recorded) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.body.Write(b)
}

// headersTo has an answer made of this one say what else it said, its revision first.
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

// notFoundWriter holds an answer 404 back until its message has the words clients of the
// family look for: the family's Go client takes what says "not found" for absent, and
// anything else for a fault.
type notFoundWriter struct {
	http.ResponseWriter
	asked string // the base that was asked
	held  *bytes.Buffer
}

// WriteHeader begins the answer, unless it is held back.
func (w *notFoundWriter) WriteHeader(status int) {
	if status == http.StatusNotFound && w.held == nil {
		w.held = &bytes.Buffer{}
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write continues the answer.
func (w *notFoundWriter) Write(b []byte) (int, error) {
	if w.held != nil {
		return w.held.Write(b)
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController find the connection.
func (w *notFoundWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// end sends what was held back.
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

// notFound puts what is not found before a message about something that does not exist:
// "Farm not found: the farm shop does not exist".
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
