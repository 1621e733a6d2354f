package rest

import (
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicelb/sluice/mgmt/rbac"
)

// SaveAs makes the response a download. Valid names contain no quotes.
func (c *Call) SaveAs(name string) { c.disposition = fmt.Sprintf("attachment; filename=%q", name) }

// DownloadType is the content type of downloads. Browsers do not display it.
const DownloadType = "application/x-download"

// Download sends a file of that size, to be saved under that name, and closes it.
func Download(f io.ReadCloser, size int64, name string) Streamed {
	return func(w http.ResponseWriter) {
		defer f.Close()
		h := w.Header()
		h.Set("Content-Type", DownloadType)
		h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
		h.Set("Content-Length", strconv.FormatInt(size, 10))
		_, _ = io.CopyN(w, f, size) // the client may have gone
	}
}

// Long returns an operation whose response is a file too large to hold in memory.
func Long(method, path string, needs rbac.Permission, summary string, handler func(*Call) (Streamed, error)) *Operation {
	o := &Operation{Method: method, Path: path, Needs: needs, Summary: summary, success: http.StatusOK, download: DownloadType}
	return streamedBy(o, func() huma.Operation { return o.documented(jsonContent) }, handler)
}
