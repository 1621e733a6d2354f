package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net"
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

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// failing starts a backend that serves requests but fails its check of /alive.
func failing(t *testing.T) (addr string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/alive" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		requests.Add(1)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), requests
}

// steadily calls ask continuously until stop, which returns the number of calls.
func steadily(ask func()) (stop func() int) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	n := 0
	done.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(2 * time.Millisecond) {
			ask()
			n++
		}
	})
	return func() int { cancel(); done.Wait(); return n }
}

// Check results survive the restart of any role, and of all: no request reaches a backend
// that fails its check, on any data path.
func TestNoRestartSendsTrafficToABackendThatFailsItsCheck(t *testing.T) {
	t.Parallel()
	dead, requests := failing(t)
	live := backend(t, "live")
	ports := freePorts(t, 4)
	ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.2:%d", ports[3])) // 127.0.0.3 does not listen
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	who := asOne()
	data := dataDir(t, who)
	a := start(t, who, data)
	a.must("check", "create", "alive", "command=check_http -H HOST -p PORT -u /alive", "interval=2", "fall=2")
	a.must("farm", "create", "web", "vip=127.0.0.1", fmt.Sprintf("vport=%d", ports[0]))
	a.must("service", "create", "web", "all", "farmguardian=alive")
	a.must("farm", "create", "relay", "--profile", "l4xnat", "vip=127.0.0.1", fmt.Sprintf("vport=%d", ports[1]), "protocol=tcp", "datapath=userspace", "farmguardian=alive")
	for _, at := range []string{live, dead} {
		a.must("backend", "create", "web", "all", at)
		a.must("backend", "create", "relay", at)
	}
	a.must("check", "create", "open", fmt.Sprintf("command=check_tcp -H HOST -p %d", ports[3]), "interval=2", "fall=2")
	a.must("farm", "create", "names", "--profile", "gslb", "vip=127.0.0.1", fmt.Sprintf("vport=%d", ports[2]))
	a.must("service", "create", "names", "sites", "algorithm=roundrobin", "farmguardian=open")
	a.must("zone", "create", "names", "example.com")
	a.must("record", "create", "names", "example.com", "www", "DYNA", "sites", "ttl=1")
	for _, at := range []string{"127.0.0.2", "127.0.0.3"} {
		a.must("backend", "create", "names", "sites", at)
	}
	settled := func() {
		t.Helper()
		for _, where := range [][]string{{"web", "all", "1"}, {"relay", "1"}, {"names", "sites", "2"}} {
			within(t, 20*time.Second, "the check fails", func() error {
				if out := a.must(append([]string{"check", "explain"}, where...)...); !strings.Contains(out, "down: it fails check") {
					return errors.New(out)
				}
				return nil
			})
		}
	}
	settled()
	requests.Store(0)
	var wrong, refused, answered atomic.Int64
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", fmt.Sprintf("127.0.0.1:%d", ports[2]))
	}}
	stops := []func() int{
		steadily(func() { _, _ = get(fmt.Sprintf("http://127.0.0.1:%d/", ports[0])) }),
		steadily(func() { _, _ = get(fmt.Sprintf("http://127.0.0.1:%d/", ports[1])) }),
		steadily(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			list, err := resolver.LookupHost(ctx, "www.example.com")
			var why *net.DNSError
			switch {
			case errors.As(err, &why) && why.IsTemporary && !why.IsTimeout && why.Err == "server misbehaving":
				refused.Add(1)
			case err == nil && (len(list) != 1 || list[0] != "127.0.0.2"):
				wrong.Add(1)
			case err == nil:
				answered.Add(1)
			}
		}),
	}
	for range choose(50, 3) {
		for _, role := range []string{"engine", "mgmt", "netd", "progd"} {
			a.kill(role)
			time.Sleep(300 * time.Millisecond)
		}
		api := a.api
		if err := a.stop(); err != nil {
			t.Error(err)
		}
		a = start(t, who, data, "--api", api)
		time.Sleep(time.Second)
	}
	for _, stop := range stops {
		if n := stop(); n < 100 {
			t.Errorf("only %d requests", n)
		}
	}
	settled()
	if requests.Load() != 0 || wrong.Load() != 0 || refused.Load() != 0 || answered.Load() < 100 {
		t.Errorf("%d requests reached the dead backend, %d answers of %d had its address, %d times SERVFAIL", requests.Load(), wrong.Load(), answered.Load(), refused.Load())
	}
}

// The restart of an appliance hides no change of a backend.
func TestTheTimelineHasChangesOfBackendsDuringARestart(t *testing.T) {
	t.Parallel()
	var sound [2]atomic.Bool
	sound[0].Store(true)
	var at [2]string
	for i := range sound {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if !sound[i].Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		t.Cleanup(s.Close)
		at[i] = s.Listener.Addr().String()
	}
	who := asOne()
	data := dataDir(t, who)
	a := start(t, who, data)
	a.must("check", "create", "alive", "command=check_http -H HOST -p PORT", "interval=1", "fall=1", "rise=1")
	a.must("farm", "create", "web", "vip=127.0.0.1", fmt.Sprintf("vport=%d", freePorts(t, 1)[0]))
	a.must("service", "create", "web", "all", "farmguardian=alive")
	for _, addr := range at {
		a.must("backend", "create", "web", "all", addr)
	}
	has := func(i int, what string) {
		t.Helper()
		within(t, 20*time.Second, "the timeline has that a backend "+what, func() error {
			if out := a.must("timeline"); !strings.Contains(strings.Join(strings.Fields(out), " "), fmt.Sprintf("%d (%s) %s", i, at[i], what)) {
				return errors.New(out)
			}
			return nil
		})
	}
	has(1, "is down")
	within(t, 20*time.Second, "the first backend is up", func() error {
		if out := a.must("check", "explain", "web", "all", "0"); !strings.Contains(out, "up") {
			return errors.New(out)
		}
		return nil
	})
	api := a.api
	if err := a.stop(); err != nil {
		t.Error(err)
	}
	sound[0].Store(false)
	sound[1].Store(true)
	a = start(t, who, data, "--api", api)
	has(0, "is down")
	has(1, "is up again")
	if out := a.must("timeline"); strings.Contains(out, "the farm is down") {
		t.Errorf("a farm that served clients was down:\n%s", out)
	}
}

// inDocument returns a backend in document syntax.
func inDocument(addr string) string {
	at := netip.MustParseAddrPort(addr)
	return fmt.Sprintf("{ip: %v, port: %d}", at.Addr(), at.Port())
}

// Without earlier results a start probes before it accepts clients.
func TestAStartProbesBeforeClientsComeIn(t *testing.T) {
	t.Parallel()
	dead, requests := failing(t)
	who := asOne()
	port := freePort(t)
	live := backend(t, "live")
	document := file(t, fmt.Sprintf(`checks:
- {name: alive, command: check_http -H HOST -p PORT -u /alive, interval: 10, fall: 3}
farms:
- {name: web, profile: http, vip: 127.0.0.1, vport: %d, services: [{name: all, farmguardian: alive, backends: [%s, %s]}]}
`, port, inDocument(dead), inDocument(live)))
	data := dataDir(t, who)
	a := start(t, who, data, "--config", document)
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(data, "verdicts.json")); err != nil {
		t.Fatal(err)
	}
	requests.Store(0)
	stop := steadily(func() { _, _ = get(fmt.Sprintf("http://127.0.0.1:%d/", port)) })
	start(t, who, data, "--config", document)
	time.Sleep(time.Second)
	stop()
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests reached a backend that fails its check", n)
	}
	wantAnswer(t, fmt.Sprintf("http://127.0.0.1:%d/", port), "live")
}

// Kernel rules also follow check results through restarts.
func TestNoRestartSendsTrafficToADeadBackendOfTheKernel(t *testing.T) {
	notUnderRace(t)
	s := housetest.Plan{Backends: 2, Sources: 4}.Build(housetest.New(t))
	s.Client.Route("default via " + housetest.ApplianceFront4)
	vip, _ := s.VIP(200)
	for i, b := range s.Backends {
		b.Server([]string{"b1", "b2"}[i], 8080)
	}
	defer s.Backends[1].Listen("tcp", "10.10.2.12:9090").Close() // b1 fails its check
	document := file(t, `checks:
- {name: alive, command: check_tcp -H HOST -p 9090, interval: 2, timeout: 1, fall: 2}
farms:
- {name: web, profile: l4xnat, vip: `+vip+`, vport: 80, protocol: tcp, nattype: dnat, algorithm: roundrobin, datapath: kernel, farmguardian: alive, backends: [{ip: 10.10.2.11, port: 8080}, {ip: 10.10.2.12, port: 8080}]}
`)
	root := identity{name: "root"}
	data := dataDir(t, root)
	begin := func() *appliance {
		return startIn(t, root, data, surroundings{space: s.Appliance}, "--config", document)
	}
	a := begin()
	within(t, 20*time.Second, "the check fails", func() error {
		if out := a.must("check", "explain", "web", "0"); !strings.Contains(out, "down: it fails check") {
			return errors.New(out)
		}
		return nil
	})
	reached, asked := 0, 0
	ask := func(n int) {
		for range n {
			got, err := s.Client.AskWithin(time.Second, "tcp", netip.AddrPort{}, vip+":80")
			if err != nil {
				continue
			}
			got.Close()
			asked++
			if got.Server == "b1" {
				reached++
			}
		}
	}
	within(t, 5*time.Second, "the rules follow the verdict", func() error {
		reached, asked = 0, 0
		if ask(20); reached > 0 {
			return fmt.Errorf("%d of %d connections reached the dead backend", reached, asked)
		}
		return nil
	})
	for range choose(50, 3) {
		for _, role := range []string{"engine", "mgmt", "netd", "progd"} {
			a.kill(role)
			ask(10)
			time.Sleep(200 * time.Millisecond)
			ask(10)
		}
		if err := a.stop(); err != nil {
			t.Error(err)
		}
		a = begin()
		ask(20)
	}
	if reached != 0 || asked < 100 {
		t.Errorf("%d of %d connections reached the dead backend", reached, asked)
	}
}
