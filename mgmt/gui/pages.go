// Package gui serves the administration GUI: one page, which shows every path
// below Base, and the files that page loads. Nobody is asked who he is: the
// files are the same for everybody, and what they show comes from the API, which
// does ask.
package gui

import (
	"bytes"
	"crypto/rand"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

// Base is the path all pages lie below.
const Base = "/gui/"

// nonceHere stands in index.html where the number goes that styles are known by.
const nonceHere = "__NONCE__"

// Pages answers requests for the GUI; make it with New.
type Pages struct {
	files fs.FS
	index []byte // nil: this program was built without its GUI
}

// New serves what was built: index.html and what it loads below assets/, each
// file also as FILE.gz.
func New(files fs.FS) *Pages {
	index, _ := fs.ReadFile(files, "index.html")
	return &Pages{files: files, index: index}
}

// Serves reports whether the request is for a page or a file of the GUI.
func Serves(r *http.Request) bool {
	p := r.URL.Path
	return (p == "/" || p+"/" == Base || strings.HasPrefix(p, Base)) && (r.Method == http.MethodGet || r.Method == http.MethodHead)
}

// ServeHTTP answers with a file, or with the page: which of its views a path
// stands for is known in the browser only.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Del("Access-Control-Allow-Origin") // no other page reads these
	w.Header().Del("Access-Control-Allow-Credentials")
	name := strings.TrimPrefix(r.URL.Path, Base)
	switch {
	case p.index == nil:
		missing(w)
	case !strings.HasPrefix(r.URL.Path, Base):
		http.Redirect(w, r, Base, http.StatusFound)
	case path.Ext(name) != "" || strings.HasPrefix(name, "assets/"):
		p.file(w, r, name)
	default:
		p.page(w, r)
	}
}

// missing says why there is no GUI.
func missing(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte("This program was built without its web GUI, for want of Node.js: run `make build` where it is installed.\n" +
		"The command line (`sluice --help`) and the API (/api/v4.0) do everything meanwhile.\n"))
}

// page sends index.html with a policy that lets nothing run or load but what was
// built. Styles that scripts add carry a number only this answer knows.
func (p *Pages) page(w http.ResponseWriter, r *http.Request) {
	nonce := rand.Text()
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-"+nonce+"'; img-src 'self' data:; font-src 'self'; "+
		"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(bytes.ReplaceAll(p.index, []byte(nonceHere), []byte(nonce))))
}

// file sends one of the files the page loads. Their names change with their
// content, so browsers keep them for ever.
func (p *Pages) file(w http.ResponseWriter, r *http.Request, name string) {
	packed := strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
	body, err := fs.ReadFile(p.files, name+".gz")
	if packed = packed && err == nil; !packed {
		body, err = fs.ReadFile(p.files, name)
	}
	if err != nil || name == "index.html" {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	h.Set("Vary", "Accept-Encoding")
	if packed {
		h.Set("Content-Encoding", "gzip")
	}
	if strings.HasPrefix(name, "assets/") {
		h.Del("Pragma")
		h.Del("Expires")
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}
