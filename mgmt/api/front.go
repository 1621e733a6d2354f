package api

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/sluicelb/sluice/mgmt/api/family"
	"github.com/sluicelb/sluice/mgmt/api/farms"
	"github.com/sluicelb/sluice/mgmt/api/numbers"
	"github.com/sluicelb/sluice/mgmt/api/people"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/gui"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// front is the first stage of every request, before the router.
type front struct {
	s     *Server
	next  http.Handler
	cross *http.CrossOriginProtection
	names *names
	pages *gui.Pages // nil: no GUI

	repeats   *repeats
	lingering lingering
}

func newFront(s *Server, next http.Handler) *front {
	var pages *gui.Pages
	if s.host.GUI != nil {
		pages = gui.New(s.host.GUI, s.provided)
	}
	return &front{s: s, pages: pages, next: next, cross: http.NewCrossOriginProtection(), repeats: newRepeats(s.host.Now), lingering: newLingering(),
		names: &names{settings: s.host.Settings, certificate: s.host.Certificate, chosen: s.host.Chosen, own: s.host.HostNames, now: s.host.Now}}
}

// ServeHTTP serves a request and consumes the rest of its body.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c := gatedOf(r.Context()); c != nil {
		c.begin()
		defer c.end()
		if auth.Trusted(r) {
			c.identified(rbac.Root)
		}
	}
	f.lingering.over(w, r, f.serve)
}

// identified marks the connection of a request as belonging to a user.
func identified(r *http.Request, by auth.Principal) {
	if c := gatedOf(r.Context()); c != nil {
		c.identified(by.Who.Name())
	}
}

// serve runs the checks in the order that reveals least to a stranger: headers, OPTIONS,
// cross-site, authentication, path.
func (f *front) serve(w http.ResponseWriter, r *http.Request) {
	guarded := &guardedWriter{ResponseWriter: w}
	r, keep := f.audited(guarded, r)
	defer keep()
	defer f.contain(guarded, r)
	develops := f.s.host.Developing(r)
	setHeaders(guarded.Header(), r)
	if develops {
		setOrigin(guarded.Header(), r)
	}
	if r = farms.InZones(numbers.InDisks(r)); canonical(r) { // others are rejected later
		r = family.Lead(guarded, r)
	}
	if r.Method == http.MethodOptions {
		f.setPreflight(guarded.Header(), r)
		if develops {
			setOrigin(guarded.Header(), r)
		}
		guarded.WriteHeader(http.StatusOK)
		return
	}
	if err := f.crossSite(r, develops); err != nil {
		f.s.refuse(guarded, r, err)
		return
	}
	if f.pages != nil && gui.Serves(r) {
		f.pages.ServeHTTP(guarded, r)
		return
	}
	if f.s.metrics(guarded, r) {
		return
	}
	by, err := f.identify(r)
	if err != nil {
		f.s.refuse(guarded, r, people.Unauthorized(f.s.host.Log, r, err))
		return
	}
	rest.NoteOf(r.Context()).By = by
	if by.Name != "" {
		identified(r, by)
	}
	if !canonical(r) {
		f.s.refuse(guarded, r, unknownPath(r))
		return
	}
	r = asGet(r.WithContext(rest.WithPrincipal(r.Context(), by)))
	f.repeats.serve(f.s, guarded, r, by.Name, f.next)
}

// identify authenticates the caller, by user and password for a login. A logout without a
// session gets an error of its own.
func (f *front) identify(r *http.Request) (auth.Principal, error) {
	switch {
	case isSession(r) && r.Method == http.MethodPost:
		return f.s.host.Guard.LogIn(r)
	case isSession(r) && r.Method == http.MethodDelete:
		by, err := f.s.host.Guard.Identify(r)
		if errors.Is(err, auth.ErrNoCredential) {
			err = people.NoSession()
		}
		return by, err
	case isPublic(r) && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		return auth.Principal{Source: auth.Source(r)}, nil
	}
	return f.s.host.Guard.Identify(r)
}

// asGet turns HEAD into GET for the router. The server omits the body.
func asGet(r *http.Request) *http.Request {
	if r.Method == http.MethodHead {
		r.Method = http.MethodGet // r is a copy
	}
	return r
}

// setHeaders sets the headers of every response, which forbid caching, framing and MIME
// sniffing. A page of any origin may read a response only if it sent the key itself. No page
// gets access through a browser's own credentials, because there are none.
func setHeaders(h http.Header, r *http.Request) {
	h.Set("Cache-Control", "no-cache, no-store")
	h.Set("Pragma", "no-cache")
	h.Set("Expires", "-1")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	if r.TLS != nil { // the local socket has no TLS
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	origin := "https://" + r.Host
	if auth.KeyUsed(r) {
		origin = "*"
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Credentials", "true")
	h.Set("Access-Control-Expose-Headers", "Set-Cookie, Content-Disposition")
}

// setOrigin lets the requesting page read the response, using the session cookie.
func setOrigin(h http.Header, r *http.Request) {
	h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	h.Add("Vary", "Origin")
}

// setPreflight responds to a preflight. A page of any origin may send requests with a key,
// because browsers never add one on their own.
func (f *front) setPreflight(h http.Header, r *http.Request) {
	if keyAnnounced(r) && rest.ValidHost(r.Host) && f.names.are(r.Host) {
		h.Set("Access-Control-Allow-Origin", "*")
	}
	h.Set("Allow", "GET, POST, PUT, DELETE, OPTIONS")
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, OPTIONS")
	h.Set("Access-Control-Allow-Headers", "ZAPI_KEY, Authorization, Set-cookie, Content-Type, X-Requested-With")
}

// keyAnnounced reports whether a preflight announces a key.
func keyAnnounced(r *http.Request) bool {
	for name := range strings.SplitSeq(strings.Join(r.Header.Values("Access-Control-Request-Headers"), ","), ",") {
		if auth.IsKeyHeader(strings.TrimSpace(name)) {
			return true
		}
	}
	return false
}

// crossSite rejects changes that a foreign page makes a browser send without a key. It also
// rejects browsers that use a name not belonging to the appliance (DNS rebinding). Clients
// that do not identify as browsers pass.
func (f *front) crossSite(r *http.Request, develops bool) *rest.Rejection {
	if auth.Local(r) {
		return nil
	}
	if !rest.ValidHost(r.Host) {
		return rest.BadRequest("the Host header is broken")
	}
	browser := r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != ""
	if browser && !f.names.are(r.Host) {
		return rest.Refuse(http.StatusForbidden, "refused: %s is not a name of this appliance: add it to api_names (`sluice system config api_names=NAME` on the appliance), or use an address", rest.Quote(r.Host))
	}
	if develops || auth.KeyUsed(r) { // the page knows the key; browsers never add one
		return nil
	}
	if err := f.cross.Check(r); err != nil {
		return &rest.Rejection{Status: http.StatusForbidden, Message: "refused: the request comes from a page of another site and has no key", Cause: err}
	}
	return nil
}

// canonical reports whether the path has exactly one reading. The only escapes allowed are
// the blank, for certificate names, and those handled by InZones. Dot segments, empty
// segments and a final slash are not allowed. No name in the API needs them.
func canonical(r *http.Request) bool {
	p := strings.ReplaceAll(r.URL.EscapedPath(), "%20", "_")
	return !strings.ContainsAny(p, "%;\\") && !strings.Contains(p, "//") && !strings.HasSuffix(p, "/") &&
		!strings.Contains(p+"/", "/./") && !strings.Contains(p+"/", "/../")
}

// refuse writes a rejection outside of a handler.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err *rest.Rejection) {
	err.Description = cmp.Or(err.Description, rest.Quote(r.Method)+" "+rest.QuotePath(r.URL.Path))
	rest.LogFault(s.host.Log, r, err)
	rest.NoteOf(r.Context()).Message = err.Message
	err.Send(w)
}

// contain converts a panic of a handler into a response without details.
func (f *front) contain(w *guardedWriter, r *http.Request) {
	fault := recover()
	if fault == nil {
		return
	}
	f.s.host.Log.LogAttrs(r.Context(), slog.LevelError, "panic in an API handler",
		slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Any("panic", fault), slog.String("stack", string(debug.Stack())))
	if w.wrote {
		panic(http.ErrAbortHandler) // part of the response has been sent: abort the connection
	}
	f.s.refuse(w, r, &rest.Rejection{Status: http.StatusInternalServerError, Message: rest.InternalFault, Cause: fmt.Errorf("panic: %v", fault)})
}

// guardedWriter records whether a response has started, and its status.
type guardedWriter struct {
	http.ResponseWriter
	wrote  bool
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *guardedWriter) WriteHeader(status int) {
	w.wrote, w.status = true, status
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *guardedWriter) Write(b []byte) (int, error) {
	w.wrote, w.status = true, cmp.Or(w.status, http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController access to the connection.
func (w *guardedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// isPublic reports whether a request starts a login, for which no credential is needed.
func isPublic(r *http.Request) bool {
	path, ours := strings.CutPrefix(r.URL.Path, Base)
	path, family := strings.CutPrefix(path, FamilyBase)
	return ours != family && people.Public(path)
}

// isSession reports whether a request concerns a login session.
func isSession(r *http.Request) bool {
	return r.URL.Path == Base+people.SessionPath || r.URL.Path == FamilyBase+people.SessionPath
}

// provided reports whether login with OpenID Connect is available.
func (s *Server) provided() bool {
	if s.host.Provider == nil {
		return false
	}
	settings, _, err := s.host.Provider.Settings()
	return err == nil && settings.Enabled
}
