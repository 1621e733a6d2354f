package revisions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// Limits of a transaction, as all other changes wait while it is prepared.
const (
	maxWrites       = 256
	transactionTime = 30 * time.Second
	answerTime      = 90 * time.Second
)

// Write is one change of a transaction.
type Write struct {
	Method string `json:"method" enum:"POST,PUT,DELETE"`
	Path   string `json:"path" doc:"As it is alone, without the base"`
	// Body is an object or a document as a string; missing if there is none.
	Body json.RawMessage `json:"body,omitempty"`
}

// WriteAnswer is the response to one write of a transaction.
type WriteAnswer struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Status int    `json:"status"`
	Body   any    `json:"body" doc:"Response to the write on its own; states are those before the transaction is applied"`
}

// Transacted is the result of a transaction.
type Transacted struct {
	Applied
	Answers []WriteAnswer `json:"answers" doc:"One for each write"`
}

// transactionFields is the body of a transaction.
type transactionFields struct{}

// Params lists the fields for help responses and OpenAPI.
func (transactionFields) Params() []field.Param {
	return []field.Param{
		{Name: "writes", Format: "object", Options: []string{"non_blank", "required", "list"},
			Description: fmt.Sprintf("Up to %d configuration changes, applied in this order: objects with the method (POST, PUT or DELETE), path and body of the individual API call.", maxWrites)},
		{Name: "comment", Format: "string", Description: "Reason for the change, shown in the history; defaults to a list of the changes."},
	}
}

// transact performs several changes as one.
func (s *Resource) transact(c *rest.Call) (rest.Object[Transacted], error) {
	var none rest.Object[Transacted]
	writes, comment, err := readTransaction(c)
	if err != nil {
		return none, err
	}
	expect, err := c.Expected()
	if err != nil {
		return none, err
	}
	c.MayTake(answerTime)
	answers := []WriteAnswer{}
	result, err := s.deps.Applier.Transact(c.Context, c.Author(), comment, expect, func(d *apply.Draft) error {
		ctx, cancel := context.WithTimeout(c.ForWrites(apply.InDraft(c.Request.Context(), d)), transactionTime)
		defer cancel()
		answers = answers[:0] // it may run again
		for i, w := range writes {
			answer, err := s.write(ctx, c, w)
			if err == nil && ctx.Err() != nil {
				err = rest.Refuse(http.StatusServiceUnavailable, "it took longer than %v", transactionTime)
			}
			if err != nil {
				return refusedWrite(i, w, err)
			}
			answers = append(answers, answer)
		}
		return nil
	})
	if result, err = c.Keep(result, err, expect); err != nil {
		return none, err
	}
	c.RenewSight()
	return rest.Object[Transacted]{Description: c.Summary(), Params: Transacted{Applied: applied(c, result, false), Answers: answers}}, nil
}

// refusedWrite names the write that made the transaction fail.
func refusedWrite(i int, w Write, err error) *rest.Rejection {
	r := rest.RejectionOf(err, false)
	return &rest.Rejection{Status: r.Status, Cause: r.Cause, Header: r.Header, Details: r.Details, Code: r.Code, Field: r.Field, Write: &i,
		Message: fmt.Sprintf("writes[%d], %s %s: %s; nothing was changed", i, w.Method, rest.QuotePath(w.Path), strings.TrimSuffix(r.Message, "."))}
}

func readTransaction(c *rest.Call) ([]Write, string, error) {
	raw, err := rest.ReadBody(c.Request, document.MaxSize, []string{"application/json", "text/plain"})
	if err != nil {
		return nil, "", err
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, "", rest.Help(transactionFields{})
	}
	writes, comment, err := parseTransaction(raw)
	if err == nil {
		err = rest.CheckComment(comment)
	}
	return writes, comment, err
}

// parseTransaction decodes a transaction. Each error names its write.
func parseTransaction(raw []byte) ([]Write, string, error) {
	var body struct {
		Writes  []json.RawMessage `json:"writes"`
		Comment string            `json:"comment"`
	}
	if err := rest.Strictly(raw, &body, "writes", "comment"); err != nil {
		return nil, "", rest.BadRequest("a transaction is {\"writes\": [{\"method\": …, \"path\": …, \"body\": …}], \"comment\": …}: %s", err)
	}
	if n := len(body.Writes); n == 0 || n > maxWrites {
		return nil, "", rest.BadRequest("writes: %d are not allowed, allowed are 1 to %d", n, maxWrites)
	}
	writes := make([]Write, len(body.Writes))
	for i, raw := range body.Writes {
		err := rest.Strictly(raw, &writes[i], "method", "path", "body")
		if err == nil {
			err = writes[i].check()
		}
		if err != nil {
			r := rest.BadRequest("writes[%d]: %s", i, err)
			r.Write = &i
			return nil, "", r
		}
	}
	return writes, body.Comment, nil
}

func (w *Write) check() error {
	if !slices.Contains([]string{rest.Post, rest.Put, rest.Delete}, w.Method) {
		return fmt.Errorf("method: %s is not allowed, allowed are POST, PUT and DELETE", rest.Quote(w.Method))
	}
	u, err := url.Parse(w.Path)
	switch {
	case err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(w.Path, "/"):
		return fmt.Errorf("path: %s is none, write it as /farms/shop", rest.QuotePath(w.Path))
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("path: a query is for the whole transaction, leave it out here")
	}
	return nil
}

// write performs one change of a transaction and records its response, as if it had been
// sent alone.
func (s *Resource) write(ctx context.Context, c *rest.Call, w Write) (WriteAnswer, error) {
	body, kind := []byte(w.Body), "application/json"
	var text string
	if len(body) > 0 && json.Unmarshal(body, &text) == nil { // null means that the body is missing
		body, kind = []byte(text), "text/plain"
	}
	r := c.Request.Clone(rest.WithNote(ctx, &rest.Note{}))
	u, err := url.Parse(w.Path)
	if err != nil {
		return WriteAnswer{}, err
	}
	r.Method, r.URL, r.RequestURI, r.Body, r.ContentLength = w.Method, u, w.Path, io.NopCloser(bytes.NewReader(body)), int64(len(body))
	for _, name := range []string{"If-Match", "Idempotency-Key", "Content-Length", "Content-Encoding", "Transfer-Encoding"} {
		r.Header.Del(name)
	}
	r.Header.Set("Content-Type", kind)
	out := &recorded{head: http.Header{}}
	s.deps.Serve(out, r)
	return out.answer(w)
}

// recorded is a response in memory.
type recorded struct {
	head   http.Header
	status int
	body   bytes.Buffer
}

// Header, WriteHeader and Write implement http.ResponseWriter.
func (r *recorded) Header() http.Header { return r.head }

// WriteHeader implements http.ResponseWriter.
func (r *recorded) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// Write implements http.ResponseWriter.
func (r *recorded) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(b)
}

func (r *recorded) answer(w Write) (WriteAnswer, error) {
	out := WriteAnswer{Method: w.Method, Path: w.Path, Status: r.status}
	if err := json.Unmarshal(r.body.Bytes(), &out.Body); err != nil {
		return out, fmt.Errorf("the answer to %s %s is no JSON: %w", w.Method, w.Path, err)
	}
	if r.status < 300 {
		return out, nil
	}
	refusal := rest.Refuse(r.status, "refused")
	if fields, is := out.Body.(map[string]any); is {
		if message, is := fields["message"].(string); is {
			refusal.Message = message
		}
		if details, is := fields["details"].(string); is {
			refusal.Details = details
		}
		if code, is := fields["code"].(string); is {
			refusal.Code = code
		}
		if help, is := fields["params"].([]any); is && fields["error"] == nil { // the response to an empty body
			refusal.Message = "no field was sent, allowed are " + strings.Join(namesOf(help), ", ")
		}
	}
	refusal.Header = maps.Clone(r.head)
	for name := range refusal.Header {
		if name != "Retry-After" {
			refusal.Header.Del(name)
		}
	}
	return out, refusal
}

func namesOf(params []any) (out []string) {
	for _, p := range params {
		if field, is := p.(map[string]any); is {
			out = append(out, fmt.Sprint(field["name"]))
		}
	}
	return out
}
