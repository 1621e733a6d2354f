package system

import (
	"bytes"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/audit"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Audit stores writes and rejected calls; *audit.Log implements it.
type Audit interface {
	Add(audit.Entry)
	Read(limit int, before uint64) ([]audit.Entry, error)
	Export(to *bytes.Buffer) error
}

func (s *Resource) auditOperations() []*rest.Operation {
	if s.deps.Audit == nil {
		return nil
	}
	return []*rest.Operation{
		rest.Op(rest.Get, "/audit", rbac.LogShow, "List the audit log", s.listAudit).CutsItself().
			With("limit", "Maximum number of entries; defaults to 50").With("before", "Only entries with a lower number"),
		rest.File(rest.Get, "/audit/export", rbac.LogDownload, "Download the audit log", rest.DownloadType, s.exportAudit),
	}
}

const maxAudited = 1000

// AuditEntry is a write or a rejected call.
type AuditEntry audit.Entry

func (s *Resource) listAudit(c *rest.Call) (rest.List[AuditEntry], error) {
	limit, err := c.Number("limit", 50, 1, maxAudited)
	if err != nil {
		return rest.List[AuditEntry]{}, err
	}
	before, err := c.Number("before", 0, 1, 1<<62)
	if err != nil {
		return rest.List[AuditEntry]{}, err
	}
	read := func(limit int, before uint64) ([]AuditEntry, error) {
		entries, err := s.deps.Audit.Read(limit, before)
		out := make([]AuditEntry, len(entries))
		for i, e := range entries {
			out[i] = AuditEntry(e)
		}
		return out, err
	}
	found, err := rest.Search(c, int(limit), before, read, func(e AuditEntry) uint64 { return e.Number })
	return rest.NewList(c.Summary(), found), err
}

func (s *Resource) exportAudit(c *rest.Call) ([]byte, error) {
	var out bytes.Buffer
	err := s.deps.Audit.Export(&out)
	c.SaveAs("audit.jsonl")
	return out.Bytes(), err
}
