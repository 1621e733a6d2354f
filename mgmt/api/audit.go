package api

import (
	"bytes"
	"context"
	"net/http"

	"github.com/sluicelb/sluice/mgmt/audit"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Audit keeps who wrote something or was refused; *audit.Log is one.
type Audit interface {
	Add(audit.Entry)
	Read(limit int, before uint64) ([]audit.Entry, error)
	Export(to *bytes.Buffer) error
}

// note is what a call tells the audit log of itself on its way.
type note struct {
	by       auth.Principal
	source   string
	message  string
	revision uint64
	quiet    bool // it changed nothing: a question, or only tried
}

type noteKey struct{}

// noteOf is the note of a request; one that nobody reads where it has none.
func noteOf(ctx context.Context) *note {
	if n, ok := ctx.Value(noteKey{}).(*note); ok {
		return n
	}
	return &note{}
}

// audited gives a request its note, and returns what keeps it once it is answered.
func (f *front) audited(w *guardedWriter, r *http.Request) (*http.Request, func()) {
	if f.s.deps.Audit == nil {
		return r, func() {}
	}
	n := &note{source: auth.Source(r)}
	method, path := r.Method, r.URL.Path
	r = r.WithContext(context.WithValue(r.Context(), noteKey{}, n))
	return r, func() {
		refused := w.status == http.StatusUnauthorized || w.status == http.StatusForbidden || w.status == http.StatusTooManyRequests
		reads := method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
		if !refused && (reads || n.quiet) {
			return
		}
		f.s.deps.Audit.Add(audit.Entry{User: n.by.Name, Source: n.source, Method: method, Path: path, Status: w.status, Message: n.message, Revision: n.revision})
	}
}

func (s *Server) auditOperations() []*operation {
	if s.deps.Audit == nil {
		return nil
	}
	return []*operation{
		op(get, "/audit", rbac.LogShow, "List who wrote or was refused", s.listAudit).
			with("limit", "How many, 50 when not given").with("before", "Only calls with a lower number"),
		file(get, "/audit/export", rbac.LogDownload, "Download who wrote or was refused", linesType, s.exportAudit),
	}
}

// linesType is a file of lines that are JSON.
const linesType = "application/x-ndjson"

const maxAudited = 1000

// AuditEntry is a call that wrote something or was refused.
type AuditEntry audit.Entry

func (s *Server) listAudit(c *call) (List[AuditEntry], error) {
	limit, err := c.number("limit", 50, 1, maxAudited)
	if err != nil {
		return List[AuditEntry]{}, err
	}
	before, err := c.number("before", 0, 1, 1<<62)
	if err != nil {
		return List[AuditEntry]{}, err
	}
	entries, err := s.deps.Audit.Read(int(limit), before)
	var out []AuditEntry
	for _, e := range entries {
		out = append(out, AuditEntry(e))
	}
	return list(c.op.summary, out), err
}

func (s *Server) exportAudit(c *call) ([]byte, error) {
	var out bytes.Buffer
	err := s.deps.Audit.Export(&out)
	c.disposition = `attachment; filename="audit.jsonl"`
	return out.Bytes(), err
}
