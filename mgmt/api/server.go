package api

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/sluicelb/sluice/mgmt/api/family"
	"github.com/sluicelb/sluice/mgmt/api/farms"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Base paths of all operations: Sluice's own, and that of the family.
const (
	Base       = "/api/v4.0"
	FamilyBase = family.Base
)

// Server serves the API. Use New to make one.
type Server struct {
	host      *Host
	resources []Resource
	routerOf  func(path string) *router
	inner     http.Handler // serves authenticated callers
	handler   http.Handler
	// begun is closed by served when serving is set.
	begun   chan struct{}
	served  func()
	serving atomic.Pointer[running]
}

// New returns a server of the resources. A host has one server.
func New(host *Host, resources ...Resource) *Server {
	begun := make(chan struct{})
	s := &Server{host: host, resources: resources, begun: begun, served: sync.OnceFunc(func() { close(begun) })}
	host.server = s
	for _, r := range resources {
		if e, is := r.(Extension); is {
			e.Extend(&host.operations)
		}
	}
	host.operations.Reads = map[string]*rest.Operation{}
	for _, o := range s.operations() {
		if o.Method == rest.Get {
			host.operations.Reads[o.Path] = o
		}
	}
	s.routerOf = s.bases()
	s.inner = family.Over(http.HandlerFunc(s.route), host.config, host.SameCommand)
	s.handler = newFront(s, s.inner)
	return s
}

// bases returns the function that chooses the router of a path, nil without one. Each router
// is created on the first request to it.
func (s *Server) bases() func(path string) *router {
	ours := sync.OnceValue(func() *router { return s.newRouter(Base) })
	family := sync.OnceValue(func() *router { return s.newRouter(FamilyBase) })
	return func(path string) *router {
		switch {
		case strings.HasPrefix(path, Base+"/"):
			return ours()
		case strings.HasPrefix(path, FamilyBase+"/"):
			return family()
		}
		return nil
	}
}

// route forwards a request to the router of its base path.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	if to := s.routerOf(r.URL.Path); to != nil {
		to.ServeHTTP(w, r)
		return
	}
	s.refuse(w, r, unknownPath(r))
}

// permits reports whether the caller may use the operation of a request, before the body is
// read. Paths without one exist in deprecated generations only, for changes of farms or of
// root's account.
func (s *Server) permits(r *http.Request) bool {
	if to := s.routerOf(r.URL.Path); to != nil {
		if o, param := to.operation(r); o != nil {
			return o.Permits(&s.host.operations, r, param)
		}
	}
	return strings.HasPrefix(r.URL.Path, FamilyBase+"/") && rest.Asker(r.Context()).May(rbac.FarmModify)
}

// alone forwards a write of a transaction to its operation. The caller is already
// authenticated.
func (s *Server) alone(w http.ResponseWriter, r *http.Request) {
	if r = farms.InZones(r); !canonical(r) {
		s.refuse(w, r, unknownPath(r))
		return
	}
	r.URL.Path, r.URL.RawPath = Base+r.URL.Path, ""
	s.inner.ServeHTTP(w, r)
}

// router serves the operations below one base path.
type router struct {
	*echo.Echo
	operations map[string]*rest.Operation // by method and path, in the notation of the router
}

func (s *Server) newRouter(base string) *router {
	out := &router{Echo: echo.New(), operations: map[string]*rest.Operation{}}
	out.HTTPErrorHandler = s.routerError
	s.mount(out, base)
	return out
}

// operation returns the operation of a request, nil if there is none, and its path parameters.
func (t *router) operation(r *http.Request) (o *rest.Operation, param func(name string) string) {
	c := t.NewContext(r, nil)
	t.Router().Find(r.Method, echo.GetPath(r), c)
	return t.operations[r.Method+" "+c.Path()], c.Param
}

func unknownPath(r *http.Request) *rest.Rejection {
	return rest.NotFound("the path %s does not exist", rest.QuotePath(r.URL.Path))
}

// mount adds every operation below base to a router, and their OpenAPI document.
func (s *Server) mount(to *router, base string) {
	group := to.Group(base)
	operations := s.operations()
	for _, o := range operations {
		to.operations[o.Method+" "+base+pathOf(o)] = o
		group.Add(o.Method, pathOf(o), func(c echo.Context) error {
			o.Serve(&s.host.operations, c.Response(), c.Request(), c.Param)
			return nil
		})
	}
	describe := func() *rest.OpenAPI { return rest.Describe(base, cmp.Or(s.host.Version, "0"), operations) }
	group.GET("/openapi.json", blob("application/openapi+json", func() ([]byte, error) { return json.MarshalIndent(describe(), "", "  ") }))
	group.GET("/openapi.yaml", blob("application/openapi+yaml", func() ([]byte, error) { return describe().YAML() }))
}

// pathOf returns the path of an operation in the router's notation.
func pathOf(o *rest.Operation) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(o.Path)
}

// blob serves content that is built on the first request, as few clients request it.
func blob(kind string, content func() ([]byte, error)) echo.HandlerFunc {
	once := sync.OnceValues(content)
	return func(c echo.Context) error {
		b, err := once()
		if err != nil {
			return err
		}
		return c.Blob(http.StatusOK, kind, b)
	}
}

// routerError responds to errors of the router itself.
func (s *Server) routerError(err error, c echo.Context) {
	var known *echo.HTTPError
	r := c.Request()
	switch {
	case errors.Is(err, echo.ErrNotFound):
		s.refuse(c.Response(), r, unknownPath(r))
	case errors.As(err, &known) && known.Code == http.StatusMethodNotAllowed:
		s.refuse(c.Response(), r, rest.Refuse(http.StatusMethodNotAllowed, "the path %s does not take %s: allowed are %s",
			rest.QuotePath(r.URL.Path), rest.Quote(r.Method), cmp.Or(c.Response().Header().Get("Allow"), "none")))
	default:
		s.refuse(c.Response(), r, rest.RejectionOf(err, false))
	}
}

// Handler returns the whole API.
func (s *Server) Handler() http.Handler { return s.handler }

// Timeouts and limits of a connection. A change may wait 20 s for the engine, so
// writeTimeout must be longer.
const (
	headTimeout  = 10 * time.Second
	readTimeout  = 30 * time.Second
	writeTimeout = 60 * time.Second
	idleTimeout  = 2 * time.Minute
	maxHead      = 32 << 10
	shutdownTime = 5 * time.Second
)

// Serve serves the local socket and, with TLS, the network until ctx is done. Then it lets
// requests in progress finish for a few seconds. Either listener may be nil. The error is
// nil if ctx ended it.
func (s *Server) Serve(ctx context.Context, local, network net.Listener, config *tls.Config) error {
	r := &running{server: s, ctx: ctx, config: config, failed: make(chan error, 2)}
	defer r.stop(ctx)
	if local != nil {
		r.local = s.httpServer()
		go func() { r.failed <- r.local.Serve(gated(local)) }()
	}
	if network != nil {
		r.listen(network)
	}
	s.serving.Store(r)
	s.served()
	select {
	case <-ctx.Done():
		return nil
	case err := <-r.failed:
		return fmt.Errorf("serve the API: %w", err)
	}
}

// Move switches the API to another network listener. Requests on the previous one end in
// order, and it is closed. Move waits until the API is served; if it no longer is, network
// is closed.
func (s *Server) Move(ctx context.Context, network net.Listener) error {
	select {
	case <-s.begun:
	case <-ctx.Done():
		_ = network.Close()
		return fmt.Errorf("the API is not served yet: %w", ctx.Err())
	}
	s.serving.Load().listen(network)
	return nil
}

func (s *Server) httpServer() *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true) // sufficient for all clients, and a smaller attack surface
	return &http.Server{
		Handler:           s.handler,
		Protocols:         &protocols,
		ConnContext:       s.connContext,
		ReadHeaderTimeout: headTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHead,
		ErrorLog:          slog.NewLogLogger(s.host.Log.Handler(), slog.LevelDebug),
	}
}

// connContext stores the gated connection and, for the local socket, the peer's user in the
// context.
func (s *Server) connContext(ctx context.Context, c net.Conn) context.Context {
	return s.host.Guard.ConnContext(withGated(ctx, c), c)
}
