package cli_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/cli"
	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/activation"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/api/system"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/apply/applytest"
	"github.com/sluicelb/sluice/mgmt/audit"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/directory"
	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/notify"
	"github.com/sluicelb/sluice/mgmt/oidc"
	"github.com/sluicelb/sluice/mgmt/packages"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/sysnet/usage"
)

var update = flag.Bool("update", false, "write the golden files anew")

// counters are the values in statistics.
type counters struct{ requests uint64 }

func (c *counters) SumFarm(uint32) stats.Farm {
	return stats.Farm{Established: 4, Pending: 1, Requests: c.requests, Responses: [5]uint64{0, 90, 3, 2, 1}, BytesIn: 2048, BytesOut: 5 << 20, Connections: 40, PacketsIn: 30}
}

func (c *counters) SumBackend(uint32) stats.Backend {
	return stats.Backend{Established: 2, Requests: c.requests, Responses: [5]uint64{0, 10}, ResponseNanos: 10 * 1500000,
		Connects: 20, ConnectFailures: 1, BytesIn: 1 << 20, PacketsOut: 7}
}

// appliance is a running API on a control socket and a TLS port.
type appliance struct {
	t        *testing.T
	data     string
	address  string
	key      string
	cacert   string
	health   map[uint32]farm.Status
	counters *counters
	pub      *applytest.Publisher
	explain  func(explain.Question) (*explain.Explanation, error)
	sessions *table
	kernel   *kernel
	traffic  stats.Traffic
	dropped  []string // by firewalls
	// listeners are sockets of this machine that wait for clients.
	listeners []apply.Listener
	users     *rbac.Book
	events    *eventlog.Log
	learned   learned
}

func start(t *testing.T) *appliance {
	t.Helper()
	data := dataDirectory(t)
	st, err := store.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	a := &appliance{t: t, data: data, health: map[uint32]farm.Status{}, counters: &counters{requests: 96}, pub: &applytest.Publisher{}, learned: learned{}, sessions: &table{}, kernel: &kernel{}, cacert: filepath.Join(data, api.CertificateFile)}
	if a.key, _, err = st.CreateKey("root", "test"); err != nil {
		t.Fatal(err)
	}
	book, err := certs.Open(st, certs.Options{Dir: data})
	if err != nil {
		t.Fatal(err)
	}
	own, _, err := api.Certificate(data, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := book.SetAppliance(own); err != nil {
		t.Fatal(err)
	}
	ap := apply.New(st, a.pub, apply.WithRules(validate.Rules{}), apply.WithReferences(book), apply.WithListeners(func() ([]apply.Listener, error) { return a.listeners, nil }))
	if _, err := ap.Republish(t.Context()); err != nil {
		t.Fatal(err)
	}
	manager := certs.NewManager(book, ap)
	users, err := rbac.NewBook(st)
	if err != nil {
		t.Fatal(err)
	}
	users.Cost = rbactest.Cheap
	a.users = users
	kept, err := audit.Open(data, slog.Default(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close() })
	a.events = eventlog.Open(data, slog.Default(), time.Now)
	t.Cleanup(a.events.Close)
	parts := apitest.Parts{
		Applier:       ap,
		History:       st,
		Certificates:  manager,
		Counters:      a.counters,
		Audit:         kept,
		Kernel:        a.kernel,
		KernelTraffic: func(context.Context) (stats.Traffic, error) { return a.traffic, nil },
		Health:        func(id uint32) farm.Status { return a.health[id] },
		Engine:        func() state.Engine { return state.Engine{Connected: true, PID: 77, Loops: 2, Acknowledged: 7} },
		ACME:          acme.New(acme.Options{Store: st, Certificates: manager, Applier: ap, Responder: &acme.Responder{}}),
		Activation:    &activation.Keeper{Store: st},
		LocalAddrs:    func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("192.0.2.10")} },
	}
	parts.Host.Keys = st
	parts.Host.Users = users
	parts.Host.Version = "1.2.3"
	parts.Host.Settings = st
	parts.State.Warnings = func(f *farm.Farm) []string {
		if f.InKernel() {
			return []string{"backend 10.0.0.3 is not used: nobody answers there"}
		}
		return a.dropped
	}
	parts.Farms.Explain = func(_ context.Context, q explain.Question) (*explain.Explanation, error) { return a.explain(q) }
	parts.Traffic.SessionTable = a.sessions
	parts.Traffic.Forwarded = connections{[]uint32{1, 2}}
	parts.Traffic.Tracked = connections{[]uint32{3}}
	parts.Statistics.Usage = func() usage.Sample {
		return usage.Sample{At: time.Now(), CPU: usage.CPU{User: 1, Idle: 1}, Cores: 2, Load: [3]float64{.5, 1, 2}, Memory: usage.Memory{Total: 4 << 30, Free: 1 << 30}}
	}
	parts.People.Directory = directory.New(directory.Options{Keeper: st, Secrets: book})
	parts.People.Provider = oidc.New(oidc.Options{Keeper: st, Secrets: book})
	parts.System.Roles = func() []system.Role {
		return []system.Role{{Name: "engine", PID: 77, State: "running: uid 61740, seccomp", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}
	}
	parts.System.Packages = someUpdates{}
	parts.Headroom.Learned = a.learned
	parts.Timeline.Events = a.events
	parts.Notifications.Notifier = notify.New(notify.Options{Store: st, Secrets: book, Host: func() string { return "lb7" }})
	server, err := parts.Server()
	if err != nil {
		t.Fatal(err)
	}
	a.serve(server, st)
	return a
}

// dataDirectory returns a directory with a short name, because socket paths are limited, in
// memory if possible.
func dataDirectory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "sluice-cli-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (a *appliance) serve(server *api.Server, st *store.Store) {
	cert, _, err := api.Certificate(a.data, time.Now())
	if err != nil {
		a.t.Fatal(err)
	}
	local, err := net.Listen("unix", filepath.Join(a.data, client.Socket))
	if err != nil {
		a.t.Fatal(err)
	}
	network, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		a.t.Fatal(err)
	}
	a.address = "https://" + network.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, local, network, api.TLSConfig(cert, nil)) }()
	a.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			a.t.Error(err)
		}
		st.Close()
	})
}

// result is the output of a command.
type result struct {
	code           int
	stdout, stderr string
}

// run runs a command on the local socket with empty stdin.
func (a *appliance) run(args ...string) result { return a.feed("", args...) }

func (a *appliance) feed(stdin string, args ...string) result {
	return execute(stdin, append([]string{"--data", a.data}, args...)...)
}

func execute(stdin string, args ...string) result {
	var out, err bytes.Buffer
	code := cli.Execute(args, strings.NewReader(stdin), &out, &err)
	return result{code, out.String(), err.String()}
}

// must is run for commands that must succeed.
func (a *appliance) must(args ...string) string {
	a.t.Helper()
	r := a.run(args...)
	if r.code != 0 {
		a.t.Fatalf("sluice %s: exit %d\n%s%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// shop creates the farm of the tests.
func (a *appliance) shop() {
	a.t.Helper()
	a.must("farm", "create", "shop", "vip=192.0.2.10", "vport=80")
	a.must("service", "create", "shop", "web", `vhost=shop\.example\.com`)
	a.must("backend", "create", "shop", "web", "10.0.0.1:8080", "weight=3")
	a.must("backend", "create", "shop", "web", "ip=10.0.0.2", "port=8080", "alias=second")
}

var (
	timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)
	stamp     = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)`)
)

// golden compares output with a file after normalising times.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if strings.HasPrefix(got, "SETTING ") {
		got = someSettings(t, got)
	}
	got = stamp.ReplaceAllString(timestamp.ReplaceAllString(got, "2026-01-01 00:00:00"), "2026-01-01T00:00:00Z")
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	lines, wanted := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(lines), len(wanted)) {
		if i >= len(lines) || i >= len(wanted) || lines[i] != wanted[i] {
			from := max(0, i-4)
			t.Errorf("%s, line %d:\n%s\nwant:\n%s", name, i+1, strings.Join(lines[from:min(len(lines), i+10)], "\n"), strings.Join(wanted[from:min(len(wanted), i+10)], "\n"))
			return
		}
	}
}

// goldenSettings represent all settings in golden files: set, unset, a number, a word, a
// list, a text with a blank, a default.
var goldenSettings = []string{"farmname", "service", "id", "profile", "status", "problem", "carrier", "carrier_reason", "warnings", "maintenance", "vip", "vport", "vhost", "ip", "port",
	"weight", "max_conns", "alias", "listener", "protocol", "algorithm", "persistence", "logs", "log_prefix", "log_redact", "idle_timeout", "contimeout", "error503", "queue", "routingpolicy"}

// someSettings reduces a table of settings to goldenSettings and normalises its alignment,
// so that a new field does not change the file.
func someSettings(t *testing.T, out string) string {
	t.Helper()
	table, behind, _ := strings.Cut(strings.TrimSuffix(out, "\n"), "\n\n")
	at := strings.Index(table, "VALUE")
	var kept strings.Builder
	for line := range strings.Lines(table + "\n") {
		name := strings.TrimSpace(line[:min(at, len(line))])
		if len(line) <= at || !strings.HasPrefix(line[len(name):], strings.Repeat(" ", at-len(name))) || line[at] == ' ' {
			t.Errorf("the value of %q is not aligned with the others:\n%s", name, table)
			continue
		}
		if name == "SETTING" || slices.Contains(goldenSettings, name) {
			kept.WriteString(name + "  " + line[at:])
		}
	}
	if behind != "" {
		return kept.String() + "\n" + behind + "\n"
	}
	return kept.String()
}

// bodySchema is the schema of a body in the OpenAPI document.
type bodySchema struct {
	Ref        string `json:"$ref"`
	Properties map[string]any
}

// openAPI is the part of the document used by tests.
type openAPI struct {
	Paths map[string]map[string]struct {
		RequestBody struct {
			Content map[string]struct{ Schema bodySchema }
		}
	}
	Components struct{ Schemas map[string]bodySchema }
}

// openAPI fetches the document.
func (a *appliance) openAPI() (doc openAPI) {
	a.t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequest(http.MethodGet, a.address+api.Base+"/openapi.json", nil)
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("ZAPI_KEY", a.key)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil {
		a.t.Fatal(err)
	}
	return doc
}

// documented returns the body fields in the OpenAPI document; at is a path and a method.
func (a *appliance) documented(at string) []string {
	a.t.Helper()
	doc := a.openAPI()
	path, verb, _ := strings.Cut(at, " ")
	body := doc.Paths[path][verb].RequestBody.Content["application/json"].Schema
	if name, ok := strings.CutPrefix(body.Ref, "#/components/schemas/"); ok {
		body = doc.Components.Schemas[name]
	}
	return slices.Sorted(maps.Keys(body.Properties))
}

// someUpdates is a system with an available update.
type someUpdates struct{}

func (someUpdates) Updates(context.Context) packages.Updates {
	return packages.Updates{Status: packages.Available, Message: "1 package can be updated.", Number: 1, Packages: []packages.Package{{Name: "zip", From: "1", To: "2"}}}
}
