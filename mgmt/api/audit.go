package api

import (
	"net/http"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/audit"
	"github.com/sluicelb/sluice/mgmt/auth"
)

// audited attaches a note to a request. The returned function writes it to the audit log
// after the response.
func (f *front) audited(w *guardedWriter, r *http.Request) (*http.Request, func()) {
	if f.s.host.Audit == nil {
		return r, func() {}
	}
	n := &rest.Note{Source: auth.Source(r)}
	method, path := r.Method, r.URL.Path
	r = r.WithContext(rest.WithNote(r.Context(), n))
	return r, func() {
		refused := w.status == http.StatusUnauthorized || w.status == http.StatusForbidden || w.status == http.StatusTooManyRequests
		reads := method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
		if !refused && !n.Keep && (reads || n.Quiet) {
			return
		}
		f.s.host.Audit.Add(audit.Entry{User: n.By.Name, Source: n.Source, Method: method, Path: path, Status: w.status, Message: n.Message, Revision: n.Revision})
	}
}
