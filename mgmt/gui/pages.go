// Package gui serves the administration GUI: one page for every path below Base, and the
// files that the page loads. It does not authenticate clients: the files are the same for
// all of them, and the data come from the API, which does.
package gui

import (
	"bytes"
	"crypto/rand"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

// Base is the path above all pages.
const Base = "/gui/"

// assets is the folder for files whose names change with their content: a missing file
// there belongs to another build, and is no page.
const assets = "assets/"

// Placeholders in index.html: nonceHere for the nonce of styles, providerHere for whether
// users may sign in with OpenID Connect.
const nonceHere, providerHere = "__NONCE__", "__OIDC__"

// Pages answers requests for the GUI. Use New to make one.
type Pages struct {
	files    fs.FS
	index    []byte // nil: the program was built without its GUI
	provider func() bool
}

// New serves the built files: index.html and the files below assets/, each file also as
// FILE.gz. The function provider reports whether users may sign in with OpenID Connect,
// which the sign-in page needs before any login.
func New(files fs.FS, provider func() bool) *Pages {
	index, _ := fs.ReadFile(files, "index.html")
	return &Pages{files: files, index: index, provider: provider}
}

// Built reports whether files contain a GUI: a program may be built without one.
func Built(files fs.FS) bool {
	_, err := fs.Stat(files, "index.html")
	return err == nil
}

// Serves reports whether the request is for a page or a file of the GUI.
func Serves(r *http.Request) bool {
	p := r.URL.Path
	return (p == "/" || p+"/" == Base || strings.HasPrefix(p, Base)) && (r.Method == http.MethodGet || r.Method == http.MethodHead)
}

// ServeHTTP answers with a file, or with the page. Only the browser selects the view for a
// path.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Del("Access-Control-Allow-Origin") // no other page reads these
	w.Header().Del("Access-Control-Allow-Credentials")
	if p.index == nil {
		missing(w)
		return
	}
	name, below := strings.CutPrefix(r.URL.Path, Base)
	if !below {
		http.Redirect(w, r, Base, http.StatusFound)
		return
	}
	body, packed := p.file(name, strings.Contains(r.Header.Get("Accept-Encoding"), "gzip"))
	switch {
	case body != nil:
		send(w, r, name, body, packed)
	case name == "index.html" || strings.HasPrefix(name, assets):
		http.NotFound(w, r)
	default: // also with a dot, as names may have
		p.page(w, r)
	}
}

// missing answers why there is no GUI.
func missing(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte("This program was built without its web GUI, for want of Node.js: run `make build` where it is installed.\n" +
		"The command line (`sluice --help`) and the API (/api/v4.0) do everything meanwhile.\n"))
}

// page sends index.html with a policy that allows only built files to run or load. Styles
// added by scripts need a nonce that only this answer contains.
func (p *Pages) page(w http.ResponseWriter, r *http.Request) {
	nonce := rand.Text()
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-"+nonce+"'; img-src 'self' data:; font-src 'self'; "+
		"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(strings.NewReplacer(nonceHere, nonce, providerHere, strconv.FormatBool(p.provider())).Replace(string(p.index))))
}

// file returns a file that the page loads, compressed if the client accepts that and it was
// built; nil if there is none. Only the method page sends the page itself.
func (p *Pages) file(name string, packs bool) (body []byte, packed bool) {
	if name == "index.html" {
		return nil, false
	}
	if packs {
		if body, err := fs.ReadFile(p.files, name+".gz"); err == nil {
			return body, true
		}
	}
	body, err := fs.ReadFile(p.files, name)
	if err != nil {
		return nil, false
	}
	return body, false
}

// send sends a file. Names of assets change with their content, so browsers cache them
// forever.
func send(w http.ResponseWriter, r *http.Request, name string, body []byte, packed bool) {
	h := w.Header()
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	h.Set("Vary", "Accept-Encoding")
	if packed {
		h.Set("Content-Encoding", "gzip")
	}
	if strings.HasPrefix(name, assets) {
		h.Del("Pragma")
		h.Del("Expires")
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}
