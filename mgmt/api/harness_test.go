package api_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/activation"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/api/numbers"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/apply/applytest"
	"github.com/sluicelb/sluice/mgmt/audit"
	"github.com/sluicelb/sluice/mgmt/backup"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/cloud"
	"github.com/sluicelb/sluice/mgmt/directory"
	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/geoip"
	"github.com/sluicelb/sluice/mgmt/hook"
	"github.com/sluicelb/sluice/mgmt/logfiles"
	"github.com/sluicelb/sluice/mgmt/notify"
	"github.com/sluicelb/sluice/mgmt/oidc"
	"github.com/sluicelb/sluice/mgmt/packages"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
	"github.com/sluicelb/sluice/mgmt/resolve"
	"github.com/sluicelb/sluice/mgmt/scripts"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/support"
	"github.com/sluicelb/sluice/mgmt/timeseries"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/sysnet/usage"
)

// engine is a publisher and the engine's side of statistics and health, controlled by a
// test.
type engine struct {
	mu        sync.Mutex
	published int
	refuse    error
	problems  map[string]string // by farm name
	down      bool
	health    map[uint32]farm.Status
	ejected   map[uint32]health.Ejection
	farms     map[uint32]stats.Farm
	backends  map[uint32]stats.Backend
	kernel    stats.Traffic
	// complete builds the configuration for the engine; inForce is the last one it
	// accepted.
	complete func(*farm.Config) (*farm.Config, map[uint32]string)
	inForce  *farm.Config
	// ds holds the DS records in the parent zones; dsFails is why they cannot be read.
	ds      []string
	dsFails error
}

func (e *engine) delegation(context.Context, string) (resolve.Delegation, error) {
	return resolve.Delegation{Parent: "com.", DS: e.ds, TTL: time.Hour}, e.dsFails
}

func (e *engine) Publish(_ context.Context, cfg *farm.Config) (apply.Outcome, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.published++
	if e.refuse != nil {
		return apply.Outcome{}, e.refuse
	}
	out := apply.Outcome{Generation: uint64(e.published), FarmErrors: map[uint32]string{}}
	if e.complete != nil {
		e.inForce, _ = e.complete(cfg)
	}
	for i := range cfg.Farms {
		if text := e.problems[cfg.Farms[i].Name]; text != "" && !cfg.Farms[i].Stopped {
			out.FarmErrors[cfg.Farms[i].ID] = text
		}
	}
	return out, nil
}

func (e *engine) Health(id uint32) farm.Status { return e.health[id] }
func (e *engine) Ejection(id uint32) (health.Ejection, bool) {
	v, is := e.ejected[id]
	return v, is
}
func (e *engine) SumFarm(id uint32) stats.Farm       { return e.farms[id] }
func (e *engine) SumBackend(id uint32) stats.Backend { return e.backends[id] }
func (e *engine) State() state.Engine                { return state.Engine{Connected: !e.down, PID: 77, Loops: 2} }

// rootPassword is the system password of root, with characters special to shells.
const rootPassword = "pa$$word 1"

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// applianceCertificate is created once and shared by all tests.
var applianceCertificate = sync.OnceValue(func() tls.Certificate {
	dir, err := os.MkdirTemp("", "sluice-api-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	c, _, err := api.Certificate(dir, clock())
	if err != nil {
		panic(err)
	}
	return c
})

// appliance is the API over a real store and writer, with a fake engine.
type appliance struct {
	t       testing.TB
	dir     string
	log     *logtest.Log
	store   *store.Store
	engine  *engine
	applier *apply.Applier
	names   *applytest.Names
	server  *api.Server
	key     string
	users   *rbac.Book
	system  *rootAccount
	numbers *timeseries.DB
	events  *eventlog.Log
	host    *host
	// meanwhile is called before the next change, with which it competes.
	meanwhile *func()
}

// host is a machine that fails to apply the named sections.
type host struct {
	problems map[string]string
	settles  func() // called during settling; nil: nothing
}

func (*host) Check(context.Context, *farm.System, *farm.System) error { return nil }

func (h *host) Settle(context.Context, *farm.System) map[string]string {
	if h.settles != nil {
		h.settles()
	}
	return h.problems
}

func newAppliance(t testing.TB, change ...func(*apitest.Parts)) *appliance {
	t.Helper()
	meanwhile := new(func())
	dir := fastDir(t)
	st, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	key, _, err := st.CreateKey("root", "test")
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{health: map[uint32]farm.Status{}, farms: map[uint32]stats.Farm{}, backends: map[uint32]stats.Backend{}, problems: map[string]string{}}
	log := &logtest.Log{}
	book, err := certs.Open(st, certs.Options{Dir: dir, Now: clock, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := book.SetAppliance(applianceCertificate()); err != nil {
		t.Fatal(err)
	}
	names := &applytest.Names{}
	h := &host{}
	ap := apply.New(st, e, apply.WithRules(validate.Rules{}), apply.WithReferences(book), apply.WithSecrets(book), apply.WithMachine(h), apply.WithNames(names), apply.WithDelegation(e.delegation))
	if _, err := ap.Republish(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.complete = book.Complete
	manager := certs.NewManager(book, ap)
	users, err := rbac.NewBook(st)
	if err != nil {
		t.Fatal(err)
	}
	users.Cost = rbactest.Cheap
	kept, err := audit.Open(dir, slog.Default(), clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close() })
	system := &rootAccount{password: rootPassword}
	users.System, users.ChangeSystem, users.Secrets = system.right, system.change, book
	ldap := directory.New(directory.Options{Keeper: st, Secrets: book, Authority: book.DownloadAuthority})
	provider := oidc.New(oidc.Options{Keeper: st, Secrets: book, Authority: book.DownloadAuthority, Now: clock})
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	numbers, err := timeseries.Open(filepath.Join(dir, "numbers"), slog.Default())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(numbers.Close)
	happened := eventlog.Open(dir, slog.Default(), clock)
	t.Cleanup(happened.Close)
	places, err := geoip.Open(dir, func() {})
	if err != nil {
		t.Fatal(err)
	}
	deps := apitest.Parts{
		Applier:       twice{ap, meanwhile},
		History:       st,
		Certificates:  manager,
		Counters:      e,
		Health:        e.Health,
		Engine:        e.State,
		Resolved:      names,
		ACME:          acme.New(acme.Options{Store: st, Certificates: manager, Applier: ap, Responder: &acme.Responder{}, Now: clock}),
		Audit:         kept,
		Activation:    &activation.Keeper{Store: st, Now: clock},
		Kernel:        &kernel{},
		KernelTraffic: func(context.Context) (stats.Traffic, error) { return e.kernel, nil },
		Numbers:       numbers,
		LocalAddrs:    func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("192.0.2.10")} },
	}
	deps.Host.Keys = st
	deps.Host.Users = users
	deps.Host.Settings = st
	deps.Host.HostNames = func() []string { return []string{"lb7.Example.net."} }
	deps.Host.SameCommand = func(a, b string) bool { return apply.SameCommand(book, a, b) }
	deps.Host.Version = "1.2.3"
	deps.Host.Now = clock
	deps.Host.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	deps.State.Ejection = e.Ejection
	deps.Farms.Explain = explainer(nil)
	deps.Checks.Guardian = &watchman{}
	deps.Checks.Lookup = nameserver
	deps.Traffic.SessionTable = &sessionTable{}
	deps.Traffic.Tracked = &tracked{}
	deps.Traffic.Forwarded = &tracked{}
	deps.Statistics.Usage = machine()
	deps.Statistics.Links = links
	deps.People.Directory = ldap
	deps.People.Provider = provider
	deps.System.GeoIP = places
	deps.System.Packages = updates{}
	deps.System.Logs = logfiles.Dir{Root: root}
	deps.Headroom.Learned = learned{}
	deps.Timeline.Events = happened
	deps.Notifications.Notifier = notify.New(notify.Options{Store: st, Secrets: book, Authorities: manager.DownloadAuthority, Now: clock, Host: func() string { return "lb7" }})
	deps.Cloud.Accounts = cloud.New(cloud.Options{Store: st, Secrets: book, Now: clock, AWS: func(string) string { return "http://127.0.0.1:1/" }, Azure: "http://127.0.0.1:1"})
	backups := backup.Options{Dir: dir, Store: st, Applier: ap, Certificates: book, Places: places, NodeKeyID: certs.NodeKeyID,
		OnlyRoot: rbac.OnlyRoot, Renumbered: rbac.Renumbered, Version: "1.2.3", Log: deps.Host.Log, Now: clock}
	deps.Upkeep.Backups = backup.New(backups)
	deps.Support = func() []support.Part { return nil }
	deps.Upkeep.Scripts = scripts.New(scripts.Options{Folder: filepath.Join(dir, hook.Folder), Now: clock})
	for _, f := range change {
		f(&deps)
	}
	if backups.Restarts = deps.Upkeep.Restart != nil; backups.Restarts {
		deps.Upkeep.Backups = backup.New(backups)
	}
	s, err := deps.Server()
	if err != nil {
		t.Fatal(err)
	}
	return &appliance{t: t, meanwhile: meanwhile, dir: dir, log: log, store: st, numbers: numbers, events: happened, engine: e, applier: ap, names: names, server: s, users: users, system: system, key: key, host: h}
}

// rootAccount checks root's password and refuses to change it with an error.
type rootAccount struct {
	password string
	refuses  error
	changed  func() // is called after a change, nil for nothing
}

func (s *rootAccount) right(_ context.Context, user, password string) (bool, error) {
	return user == rbac.Root && password == s.password, nil
}

func (s *rootAccount) change(_ context.Context, old, new string) (bool, error) {
	if s.refuses != nil || old != s.password {
		return false, s.refuses
	}
	s.password = new
	if s.changed != nil {
		s.changed()
	}
	return true, nil
}

// links returns the interfaces of that machine.
func links() []numbers.Link {
	return []numbers.Link{
		{Name: "eth0", MAC: "02:00:00:00:00:01", On: true, Up: true, Addrs: []netip.Addr{netip.MustParseAddr("fe80::1"), netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("192.0.2.10")}},
		{Name: "eth0.10", On: true, Up: true}, {Name: "eth0.20", On: true},
		{Name: "bond0", MAC: "02:00:00:00:00:02", On: true, Addrs: []netip.Addr{netip.MustParseAddr("fe80::2"), netip.MustParseAddr("2001:db8::2")}, Members: []string{"eth1"}},
	}
}

// updates is a system with one available update.
type updates struct{}

func (updates) Updates(context.Context) packages.Updates {
	return packages.Updates{Status: packages.Available, Message: "1 package can be updated.", Lists: clock(), Number: 1, Packages: []packages.Package{{Name: "zip", From: "1", To: "2", Security: true}}}
}

// machine is half busy in each second since the start of the test; two samples make one
// second.
func machine() func() usage.Sample {
	var all atomic.Int64
	return func() usage.Sample {
		looks := all.Add(1)
		return usage.Sample{
			At: clock().Add(time.Duration(looks) * time.Second), CPU: usage.CPU{User: float64(looks) / 2, Idle: float64(looks) / 2}, Cores: 2,
			Memory: usage.Memory{Total: 4 << 30, Free: 1 << 30, Buffers: 1 << 20, Cached: 1 << 30, SwapTotal: 1 << 30, SwapFree: 1 << 29, SwapCached: 12345678},
			Load:   [3]float64{.5, 1.25, 2}, Connections: 42,
			Interfaces: []usage.Interface{{Name: "eth0", In: 1 << 30, Out: 1 << 20}, {Name: "lo", In: 1, Out: 1}},
			Disks:      []usage.Disk{{Mount: "/", Total: 1 << 40, Used: 1 << 39}, {Mount: "/var/log", Total: 1 << 30, Used: 1 << 29}},
		}
	}
}

// fastDir returns a directory in memory if possible, as these tests do not concern disks.
func fastDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "sluice-api-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// reply is a response as seen by a test.
type reply struct {
	status int
	header http.Header
	raw    string
	body   map[string]any
}

// do sends one request with the valid key; extra headers come in pairs.
func (a *appliance) do(method, path, body string, headers ...string) reply {
	a.t.Helper()
	return a.send(method, api.Base+path, body, append([]string{"ZAPI_KEY", a.key}, headers...)...)
}

func (a *appliance) send(method, path, body string, headers ...string) reply {
	a.t.Helper()
	r := httptest.NewRequest(method, "https://lb.example:444"+path, strings.NewReader(body))
	r.RemoteAddr = "198.51.100.7:4000"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	a.server.Handler().ServeHTTP(w, r)
	out := reply{status: w.Code, header: w.Header(), raw: w.Body.String()}
	dec := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
	if err := dec.Decode(&out.body); err != nil && err != io.EOF && strings.Contains(w.Header().Get("Content-Type"), "json") {
		a.t.Fatalf("%s %s: body is not JSON: %v\n%s", method, path, err, out.raw)
	}
	return out
}

// must is do with a required status.
func (a *appliance) must(status int, method, path, body string, headers ...string) reply {
	a.t.Helper()
	r := a.do(method, path, body, headers...)
	if r.status != status {
		a.t.Fatalf("%s %s %s: status %d, want %d\n%s", method, path, body, r.status, status, r.raw)
	}
	return r
}

// at follows a path of keys and positions into the body, e.g. "params.0.id".
func (r reply) at(path string) any {
	var v any = r.body
	for _, step := range strings.Split(path, ".") {
		switch node := v.(type) {
		case map[string]any:
			v = node[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(node) {
				return nil
			}
			v = node[i]
		default:
			return nil
		}
	}
	return v
}

// want compares one value of the body.
func (r reply) want(t *testing.T, path string, value any) {
	t.Helper()
	if n, ok := value.(int); ok {
		value = float64(n)
	}
	if got := r.at(path); got != value {
		t.Errorf("%s is %#v, want %#v\n%s", path, got, value, r.raw)
	}
}

// refused checks the shape of an error and that its message contains all texts.
func (r reply) refused(t *testing.T, status int, texts ...string) {
	t.Helper()
	if r.status != status || r.body["error"] != "true" || r.body["description"] == "" {
		t.Errorf("status %d, want %d with an error body\n%s", r.status, status, r.raw)
	}
	message, _ := r.body["message"].(string)
	for _, text := range texts {
		if !strings.Contains(message, text) {
			t.Errorf("message %q does not contain %q", message, text)
		}
	}
}

// shop creates the farm "shop" with a service "web" and n backends.
func (a *appliance) shop(n int) {
	a.t.Helper()
	a.must(201, "POST", "/farms", `{"farmname":"shop","profile":"http","vip":"192.0.2.10","vport":80}`)
	a.must(201, "POST", "/farms/shop/services", `{"id":"web"}`)
	for i := range n {
		a.must(201, "POST", "/farms/shop/services/web/backends", fmt.Sprintf(`{"ip":"10.0.0.%d","port":8080}`, i+1))
	}
}

// dns creates the l4xnat farm "dns" with n backends, the second without a port.
func (a *appliance) dns(n int) {
	a.t.Helper()
	a.must(201, "POST", "/farms", `{"farmname":"dns","profile":"l4xnat","vip":"192.0.2.10","vport":"53,5353"}`)
	for i := range n {
		a.must(201, "POST", "/farms/dns/backends", []string{`{"ip":"10.0.0.1","port":53}`, `{"ip":"10.0.0.2"}`}[i])
	}
}

// gslb creates a gslb farm with a zone and a service with a backend.
func (a *appliance) gslb() {
	a.t.Helper()
	a.must(201, "POST", "/farms", `{"farmname":"names","profile":"gslb","vip":"192.0.2.10","vport":5300}`)
	a.must(201, "POST", "/farms/names/services", `{"id":"shop","algorithm":"prio"}`)
	a.must(201, "POST", "/farms/names/services/shop/backends", `{"ip":"10.0.0.1"}`)
	a.must(201, "POST", "/farms/names/zones", `{"id":"example.com"}`)
}

func (a *appliance) config() *farm.Config {
	cfg, _ := a.applier.Current()
	return cfg
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func withoutAddresses(d *apitest.Parts) { d.LocalAddrs = func() []netip.Addr { return nil } }

func quoteAny(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
