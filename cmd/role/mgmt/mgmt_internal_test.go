package mgmt

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/harden"
	"github.com/sluicelb/sluice/cmd/inherit"
	"github.com/sluicelb/sluice/cmd/role/process"
	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/cmd/supervisor/line"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/core/stats/statstest"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/system"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/apply/applytest"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/directory"
	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/guardian"
	"github.com/sluicelb/sluice/mgmt/oidc"
	"github.com/sluicelb/sluice/mgmt/publish"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/scripts"
	"github.com/sluicelb/sluice/mgmt/secondaries"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/syslog"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// office is a supervisor with an optional document and the state of roles.
type office struct {
	requests []string   // about the machine
	answer   string     // response to these
	mu       sync.Mutex // the channel responds on its own goroutine
	document string
	password string
	roles    []line.Role
}

func (o *office) Ready(harden.Status) {}
func (o *office) Overstepped(string)  {}

func (o *office) Roles() []line.Role {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.roles
}

func (o *office) ListenAPI(string) (*os.File, error) { return nil, errors.New("no listener") }

func (o *office) HostRequest(_ context.Context, kind string, request []byte) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.requests = append(o.requests, kind+" "+string(request))
	return []byte(o.answer), nil
}

func (o *office) RootPassword(_ context.Context, password string) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.password == "" {
		return false, errors.New("no program")
	}
	return password == o.password, nil
}

func (o *office) ChangeRootPassword(_ context.Context, old, new string) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.password == "" {
		return false, &line.RefusedError{Why: "/etc is read-only"}
	}
	if old != o.password {
		return false, nil
	}
	o.password = new
	return true, nil
}

func (o *office) Config() (*os.File, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.document == "" {
		return nil, line.ErrNoConfig
	}
	return os.Open(o.document)
}

// has changes the state of the supervisor.
func (o *office) has(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
}

// now returns the current password.
func (o *office) now() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.password
}

// house is mgmt without an API: with an engine that accepts everything, a supervisor, and a
// netd with these parts.
type house struct {
	*manager
	office *office
	post   *line.Post
	engine applytest.Publisher
	log    logtest.Log
}

func newHouse(t *testing.T, parts ctl.Parts) *house {
	t.Helper()
	h := &house{office: &office{}}
	post, end, err := line.Pair(h.office, h.office)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(post.Close)
	t.Setenv(inherit.Variable, "")
	conn, err := unixConn(end)
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	h.post = post
	h.manager = &manager{Process: &process.Process{Line: line.Answer(conn)}, store: st, kernel: askNetd(t, parts), counters: statstest.New(t, 1), scripts: scripts.New(scripts.Options{Folder: t.TempDir()}), remote: syslog.NewRemote(slog.New(slog.DiscardHandler), nil)}
	h.events = eventlog.Open(t.TempDir(), slog.New(slog.DiscardHandler), time.Now)
	t.Cleanup(h.events.Close)
	h.publisher = publish.New(publish.Options{})
	if h.page, err = snapshot.OpenPage(make([]byte, snapshot.PageSize)); err != nil {
		t.Fatal(err)
	}
	book, err := certs.Open(st, certs.Options{Dir: t.TempDir(), Proxy: h.proxy})
	if err != nil {
		t.Fatal(err)
	}
	h.certs = certs.NewManager(book, nil)
	h.notify = h.notifier(book)
	t.Cleanup(h.notify.Close)
	t.Cleanup(h.remote.Close)
	if h.manager.health, err = health.OpenTable(make([]byte, health.TableSize)); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	h.guardian = guardian.New(ctx, guardian.Options{Table: h.manager.health})
	t.Cleanup(h.guardian.Wait)
	h.secondaries = secondaries.New(ctx, secondaries.Options{})
	t.Cleanup(h.secondaries.Wait)
	t.Cleanup(leave)
	h.applier = apply.New(st, &h.engine, apply.WithRules(validate.Rules{}), apply.WithSecrets(book), apply.WithMachine(collectors{h.remote, h.authorities}))
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&h.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	t.Cleanup(func() { slog.SetDefault(before) })
	return h
}

func unixConn(f *os.File) (*net.UnixConn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return c.(*net.UnixConn), nil
}

// give applies a configuration of these farms.
func (h *house) give(t *testing.T, farms ...farm.Farm) {
	t.Helper()
	edit := func(cfg *farm.Config) error { cfg.Farms = farms; return nil }
	if _, err := h.applier.Change(t.Context(), apply.Author{Name: "root"}, "test", 0, edit); err != nil {
		t.Fatal(err)
	}
}

// about implements a netd whose firewall drops nothing.
func (h *heard[Q]) about(_ context.Context, _ []byte, files []*os.File) (any, error) {
	keys, err := ctl.OpenFarmKeys(files)
	q := any(keys).(Q)
	h.at.Store(&q)
	return map[uint32][]string{}, err
}

// carried returns a farm of the engine and one of the kernel.
func carried() []farm.Farm {
	vip := netip.MustParseAddr("127.0.0.1")
	web, dns := farm.DefaultHTTP(), farm.DefaultL4()
	web.Services = []farm.Service{{Name: "web", Backends: []farm.Backend{{Host: "127.0.0.1", Port: 8081}, {Host: "127.0.0.1", Port: 8082}}}}
	dns.DataPath, dns.Ports, dns.Backends = farm.DataPathKernel, []farm.PortRange{{First: 53, Last: 53}}, []farm.Backend{{Host: "127.0.0.2", Port: 53}, {Host: "127.0.0.3", Port: 53}}
	return []farm.Farm{
		{Name: "shop", Profile: farm.ProfileHTTP, VIP: vip, VPort: 8080, HTTP: web},
		{Name: "dns", Profile: farm.ProfileL4, VIP: vip, L4: dns},
	}
}

func (h *house) write(t *testing.T, document string) {
	t.Helper()
	h.office.has(func() { h.office.document = filepath.Join(t.TempDir(), "sluice.yaml") })
	if err := os.WriteFile(h.office.document, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
}

const shopDocument = "farms: [{name: shop, profile: http, vip: 127.0.0.1, vport: 8080}]\n"

func TestADocumentIsAppliedAndItsOutcomeLogged(t *testing.T) {
	h := newHouse(t, nil)
	applied := func(want, logged string) {
		t.Helper()
		err := h.applyLogged(t.Context(), "signal", time.Minute)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("it is applied: %v, want %q", err, want)
		}
		text := h.log.String()
		if logged == "" && text != "" || !strings.Contains(text, logged) {
			t.Errorf("logged %q, want %q", text, logged)
		}
		h.log = logtest.Log{}
		rejected := want != "" && want != line.ErrNoConfig.Error()
		if list := h.problems(); len(list) > 0 != rejected || rejected && !strings.Contains(list[0], want) {
			t.Errorf("problems %q, want %q", list, want)
		}
		var kept rejectedFile
		if kept.load(h.store); kept.problem() != h.rejected.problem() {
			t.Errorf("after a restart the problem is %q", kept.problem())
		}
	}
	applied(line.ErrNoConfig.Error(), "")
	h.office.has(func() { h.office.document = filepath.Join(t.TempDir(), "none") })
	applied(rest.ErrConfigFile.Error(), `level=ERROR msg="configuration file not applied"`)
	h.write(t, "farms: [{name: a}, {name: b}]\n")
	if err := h.applyLogged(t.Context(), "signal", time.Minute); !strings.HasPrefix(err.Error(), h.office.document+": ") || len(h.log.Lines("not applied")) < 2 {
		t.Errorf("%v: logged %s", err, &h.log)
	}
	path := ""
	h.office.has(func() { path, h.office.document = h.office.document, "" })
	if list := h.problems(); len(list) != 0 {
		t.Errorf("without --config: problems %q", list)
	}
	h.office.has(func() { h.office.document = path })
	h.log = logtest.Log{}
	h.write(t, shopDocument)
	applied("", `level=INFO msg="configuration file applied" changed=true revision=1`)
	cfg, revision := h.applier.Current()
	if len(cfg.Farms) != 1 || revision.Author != "root" || revision.Source != "signal" || revision.Comment != "reload "+h.office.document {
		t.Errorf("%d farms, %+v", len(cfg.Farms), revision)
	}
	applied("", `level=INFO msg="configuration file applied" changed=false`)
	h.write(t, "farms: []\n")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	h.office.has(func() { // it is silent meanwhile
		if err := h.applyLogged(ended, "signal", time.Minute); err == nil {
			t.Error("a document is applied after the end")
		}
	})
}

// A document or its contents are at fault, but not an unavailable engine.
func TestOnlyAFaultyDocumentIsARejection(t *testing.T) {
	for err, want := range map[error]bool{
		nil: false, line.ErrNoConfig: false, apply.ErrUnavailable: false, context.Canceled: false, errors.New("wrong"): true, rest.ErrConfigFile: true,
	} {
		if isRejection(err) != want {
			t.Errorf("%v: %t", err, !want)
		}
	}
}

// Without a valid first document nothing can run, unless a configuration is stored.
func TestWrongFirstDocumentEndsAnEmptyInstance(t *testing.T) {
	h := newHouse(t, nil)
	h.write(t, "farms: [{name: x}]\n")
	h.published = make(chan struct{})
	close(h.published)
	t.Setenv(supervisor.FirstVariable, "1")
	configured := make(chan struct{})
	if err := h.follow(t.Context(), configured); err != process.ErrFinal {
		t.Errorf("with an empty store: %v", err)
	}
	select {
	case <-configured:
		t.Error("it serves")
	default:
	}
	h.give(t, carried()[0])
	ctx, cancel := context.WithCancel(t.Context())
	followed := make(chan error, 1)
	go func() { followed <- h.follow(ctx, configured) }()
	<-configured
	cancel()
	if err := <-followed; err != nil {
		t.Errorf("with a farm stored: %v", err)
	}
}

func TestAnEngineThatStartsIsAwaitedWithTheFirstDocument(t *testing.T) {
	h := newHouse(t, nil)
	h.write(t, shopDocument)
	tries := 0
	h.engine.Answer(func(*farm.Config) (apply.Outcome, error) {
		if tries++; tries < 3 {
			return apply.Outcome{}, apply.ErrUnavailable
		}
		return apply.Outcome{}, nil
	})
	if err := h.applyFirst(t.Context()); err != nil || tries != 3 {
		t.Errorf("%v after %d tries", err, tries)
	}
	if _, revision := h.applier.Current(); revision.Number != 1 || revision.Source != "start" {
		t.Errorf("%+v", revision)
	}
	h = newHouse(t, nil)
	h.write(t, shopDocument)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	h.engine.Answer(func(*farm.Config) (apply.Outcome, error) { return apply.Outcome{}, apply.ErrUnavailable })
	if err := h.applyFirst(ctx); err == nil || isRejection(err) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an engine that never comes: %v", err)
	}
}

func TestTheStateOfRolesIsToldInWords(t *testing.T) {
	h := newHouse(t, nil)
	began := time.Unix(1_700_000_000, 0).UTC()
	st := harden.Status{UID: 7, Seccomp: true}
	roles := []line.Role{
		{Name: "engine", PID: 5, Started: began, Restarts: 2, Ready: true, Hardening: st}, {Name: "mgmt", PID: 6}, {Name: "netd", Ready: true},
	}
	h.office.has(func() { h.office.roles = roles })
	want := []system.Role{
		{Name: "engine", PID: 5, State: "running: " + st.String(), Restarts: 2, Started: began}, {Name: "mgmt", PID: 6, State: "starting"}, {Name: "netd", State: "down"},
	}
	if got := h.roles(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	h.post.Close()
	if got := h.roles(); got != nil || !h.log.Has("state of the roles not known") {
		t.Errorf("of a supervisor that is gone: %+v, %s", got, &h.log)
	}
}

// A backend with connections in the engine or kernel is busy, as is one whose connections
// are unknown.
func TestABackendIsBusyWithWhoeverCarriesItsConnections(t *testing.T) {
	var traffic atomic.Pointer[ctl.KernelTraffic]
	traffic.Store(&ctl.KernelTraffic{})
	h := newHouse(t, ctl.Parts{ctl.OpKernelTraffic: ctl.About(func(_ context.Context, q struct{}) (ctl.KernelTraffic, error) { return *traffic.Load(), nil })})
	h.give(t, carried()...)
	cfg, _ := h.applier.Current()
	web, dns := cfg.Farms[0].Groups()[0].Backends(), cfg.Farms[1].Groups()[0].Backends()
	traffic.Store(&ctl.KernelTraffic{Backends: map[uint32]ctl.KernelCount{
		dns[0].ID: {Established: 1},
		web[1].ID: {Established: 1}, // the kernel is not responsible for it
	}})
	h.counters.Shard(0).Backend(web[0].ID).Established = 1
	for id, want := range map[uint32]bool{web[0].ID: true, web[1].ID: false, dns[0].ID: true, dns[1].ID: false, 4000: false} {
		if h.busy(id) != want {
			t.Errorf("backend %d is busy: %t", id, !want)
		}
	}
	h.counters.Shard(0).Backend(web[1].ID).Pending = 1
	if !h.busy(web[1].ID) {
		t.Error("a backend that is connected to is not busy")
	}
	away := newHouse(t, ctl.Parts{})
	away.give(t, carried()...)
	if !away.busy(dns[1].ID) || away.busy(web[1].ID) {
		t.Error("a backend without kernel data is not busy, or one of the engine is")
	}
}

// Unresponsive backends are logged once, and once when they respond again.
func TestBackendsThatDoNotAnswerAreLogged(t *testing.T) {
	var asks heard[ctl.FarmKeys]
	h := newHouse(t, ctl.Parts{ctl.OpInputDropped: asks.about})
	list := carried()
	mail := farm.DefaultL4()
	mail.DataPath, mail.Ports, mail.Backends = farm.DataPathUserspace, []farm.PortRange{{First: 2525, Last: 2525}}, []farm.Backend{{Host: "127.0.0.4", Port: 25}}
	h.give(t, append(list, farm.Farm{Name: "mail", Profile: farm.ProfileL4, VIP: list[0].VIP, L4: mail})...)
	cfg, _ := h.applier.Current()
	web, dns, smtp := cfg.Farms[0].Groups()[0].Backends()[0], cfg.Farms[1].Groups()[0].Backends()[0], cfg.Farms[2].Groups()[0].Backends()[0]
	shard := h.counters.Shard(0)
	look := func(what, want string) {
		t.Helper()
		h.log = logtest.Log{}
		h.watch.look(t.Context(), h.manager)
		if lines := h.log.Lines("answer"); len(lines) > 1 || (want == "") != (len(lines) == 0) || want != "" && !strings.Contains(lines[0], want) {
			t.Errorf("%s: %q, want %q", what, lines, want)
		}
	}
	look("nothing happened", "")
	shard.Backend(web.ID).Timeouts, shard.Backend(dns.ID).Timeouts = 2, 9
	look("two went without an answer", "")
	shard.Backend(web.ID).Abandoned = 1
	look("three", `level=WARN msg="backend accepts connections and does not answer" farm=shop service=web backend=127.0.0.1:8081`)
	look("three still", "")
	if h.watch.silent.Problem(web.ID) == "" || h.watch.silent.Problem(dns.ID) != "" {
		t.Error("another backend is silent")
	}
	shard.Backend(web.ID).BytesIn = 100 // from the client
	look("bytes of a client", "")
	shard.Backend(web.ID).Responses[1] = 1
	look("an answer", `level=INFO msg="backend answers again" farm=shop service=web backend=127.0.0.1:8081`)
	shard.Backend(smtp.ID).Timeouts = 3
	look("of relayed connections", `level=WARN`)
	shard.Backend(smtp.ID).BytesIn = 1
	look("a byte is an answer", `level=INFO msg="backend answers again" farm=mail`)
	shard.Backend(smtp.ID).Timeouts = 6
	look("silent again", `level=WARN`)
	shard.Backend(smtp.ID).Ends = 1
	look("an end is an answer", `level=INFO`)
	shard.Backend(web.ID).Timeouts = 5
	look("silent again", `level=WARN`)
	h.give(t)
	if look("the farm is gone", ""); h.watch.silent.Problem(web.ID) != "" {
		t.Error("a backend that is gone is silent")
	}
}

// Firewalls are checked with a new configuration and at every third look.
func TestFirewallsAreLookedAtNowAndThen(t *testing.T) {
	var asks heard[ctl.FarmKeys]
	h := newHouse(t, ctl.Parts{ctl.OpInputDropped: asks.about})
	shop := carried()[0]
	shop.VIP = netip.MustParseAddr("192.0.2.1") // an address that other machines reach
	h.give(t, shop)
	for i, want := range []bool{true, false, false, true, false} {
		asks.at.Store(nil)
		h.watch.look(t.Context(), h.manager)
		if asked := asks.at.Load() != nil; asked != want {
			t.Errorf("look %d: question sent: %t", i, asked)
		}
	}
	shop.VPort = 8090
	h.give(t, shop)
	asks.at.Store(nil)
	h.watch.look(t.Context(), h.manager)
	if asks.at.Load() == nil || len(asks.last()) != 1 {
		t.Error("no question about a new configuration")
	}
}

// Only the supervisor may read root's password hash.
func TestTheSupervisorKnowsThePasswordOfRoot(t *testing.T) {
	h := newHouse(t, nil)
	if right, err := h.rootPassword(t.Context(), "root", "right"); right || !errors.Is(err, apply.ErrUnavailable) {
		t.Errorf("without a supervisor: %t, %v", right, err)
	}
	h.office.has(func() { h.office.password = "right" })
	for password, want := range map[string]bool{"right": true, "wrong": false} {
		if right, err := h.rootPassword(t.Context(), "root", password); right != want || err != nil {
			t.Errorf("%s: %t, %v", password, right, err)
		}
	}
}

// It also changes the password, or reports why it cannot.
func TestTheSupervisorChangesThePasswordOfRoot(t *testing.T) {
	h := newHouse(t, nil)
	var known *rbac.Error
	if right, err := h.changeRootPassword(t.Context(), "old", "new"); right || !errors.As(err, &known) || known.Message != "newpassword: /etc is read-only" {
		t.Errorf("it cannot: %t, %v", right, err)
	}
	h.office.has(func() { h.office.password = "old" })
	if right, err := h.changeRootPassword(t.Context(), "wrong", "new"); right || err != nil {
		t.Errorf("with a wrong password: %t, %v", right, err)
	}
	if right, err := h.changeRootPassword(t.Context(), "old", "new"); !right || err != nil || h.office.now() != "new" {
		t.Errorf("%t, %v", right, err)
	}
	h.post.Close()
	if right, err := h.changeRootPassword(t.Context(), "new", "old"); right || err == nil || errors.As(err, &known) {
		t.Errorf("without a supervisor: %t, %v", right, err)
	}
}

// Secrets of users are encrypted, and the configured directory and provider are used.
func TestPeopleAreVerifiedByDirectoryAndProvider(t *testing.T) {
	h := newHouse(t, nil)
	book, err := certs.Open(h.store, certs.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if h.users, err = rbac.NewBook(h.store); err != nil {
		t.Fatal(err)
	}
	h.knowPeople(book)
	if _, err := h.users.Enrol(rbac.Root); err != nil {
		t.Error(err)
	}
	if _, err := h.users.Directory(t.Context(), "ann", "any"); !errors.Is(err, directory.ErrNotSet) {
		t.Errorf("the directory: %v", err)
	}
	if _, _, err := h.provider.Begin(t.Context(), "", false); !errors.Is(err, oidc.ErrOff) {
		t.Errorf("the provider: %v", err)
	}
}
