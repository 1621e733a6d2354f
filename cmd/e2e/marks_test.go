package e2e_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// guarded is an address of the namespace that only packets with mark 7 reach: a response
// from there proves that the mark was set.
const guarded = "127.0.0.9"

// guard sets up that rule and verifies it.
func guard(t *testing.T) {
	t.Helper()
	ip(t, "rule add pref 100 lookup local")
	ip(t, "rule del pref 0")
	ip(t, "rule add pref 10 fwmark 7 to "+guarded+" lookup local")
	ip(t, "rule add pref 11 to "+guarded+" prohibit")
	if _, err := net.Dial("tcp", guarded+":80"); !errors.Is(err, syscall.EACCES) {
		t.Fatalf("connecting without the mark: %v", err)
	}
}

// closing is a server that closes each connection after one exchange.
type closing struct {
	t     *testing.T
	addr  string
	count atomic.Int64
	last  atomic.Value // address of the last client
	http  *http.Server
}

func newClosing(t *testing.T, addr string) *closing {
	b := &closing{t: t, addr: addr}
	b.open()
	t.Cleanup(func() { _ = b.http.Close() })
	return b
}

// open starts listening, on its previous port if any.
func (b *closing) open() {
	l, err := net.Listen("tcp", b.addr)
	if err != nil {
		b.t.Fatal(err)
	}
	b.addr = l.Addr().String()
	b.http = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.count.Add(1)
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		b.last.Store(host)
		w.Header().Set("Connection", "close")
		_, _ = io.WriteString(w, "one")
	})}
	go func() { _ = b.http.Serve(l) }()
}

// many requests the URL n times in parallel and returns the first failure.
func many(url string, n int) error {
	var wg sync.WaitGroup
	failed := make(chan error, n)
	for range 8 {
		wg.Go(func() {
			for range n / 8 {
				if _, err := get(url); err != nil {
					failed <- err
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	return <-failed
}

func TestConnectionsAndProbesHaveTheMark(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	guard(t)
	root := identity{name: "root"}
	a := start(t, root, dataDir(t, root))
	b := newClosing(t, guarded+":0")
	url := a.farm("shop", b.addr)
	if _, err := get(url); err == nil {
		t.Fatal("a connection without the mark was made")
	}
	a.must("farm", "set", "shop", "contimeout=1", "resurrectime=1", "mark=7")
	within(t, 3*time.Second, "a probe with the mark of the farm finds the backend", func() error { _, err := get(url); return err })
	a.must("backend", "set", "shop", "all", "0", "mark=8")
	if _, err := get(url); err == nil {
		t.Error("the mark of the farm counts more than that of the backend")
	}
	a.must("farm", "set", "shop", "mark=0")
	a.must("backend", "set", "shop", "all", "0", "mark=7")
	within(t, 3*time.Second, "a probe with its own mark finds the backend", func() error { _, err := get(url); return err })

	_ = b.http.Close()
	if _, err := get(url); err == nil {
		t.Error("a dead backend answered")
	}
	b.open()
	within(t, 3*time.Second, "a probe finds it again", func() error { _, err := get(url); return err })
}

// Checks use the mark of the farm's traffic: a backend only reachable with its mark is up,
// and with another mark its state is unknown.
func TestChecksHaveTheMarkOfTheFarm(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	guard(t)
	root := identity{name: "root"}
	a := start(t, root, dataDir(t, root))
	b := newClosing(t, guarded+":0")
	a.farm("shop", b.addr)
	if err := os.WriteFile("/proc/sys/net/ipv4/ping_group_range", []byte("0 2147483647"), 0o644); err != nil {
		t.Fatal(err)
	}
	datagrams, err := net.ListenPacket("udp", b.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer datagrams.Close()
	go func() {
		for buf := make([]byte, 100); ; {
			n, from, err := datagrams.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = datagrams.WriteTo(buf[:n], from)
		}
	}()
	says := func(what, want string) {
		t.Helper()
		within(t, 6*time.Second, what, func() error {
			if why := a.must("check", "explain", "shop", "all", "0"); !strings.Contains(why, want) {
				return errors.New(why)
			}
			return nil
		})
	}
	for name, command := range map[string]string{"stream": "check_http -I HOST -p PORT -e 200", "datagram": "check_udp -H HOST -p PORT -s hello -e hello", "echo": "check_ping -H HOST -w 900,100% -c 900,100% -p 1"} {
		a.must("farm", "set", "shop", "mark=7")
		a.must("check", "create", name, "command="+command, "interval=1", "timeout=1")
		a.must("check", "link", name, "shop", "all")
		says(name+": asked with the mark of the farm", "check "+name+" succeeds")
		a.must("farm", "set", "shop", "mark=8")
		says(name+": asked with another mark", "not asked: this machine has no route to the address")
		a.must("check", "unlink", name, "shop", "all")
	}
}

func TestNewConnectionsWithAMarkAllSucceed(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	guard(t)
	root := identity{name: "root"}
	a := start(t, root, dataDir(t, root))
	b := newClosing(t, guarded+":0")
	url := a.farm("shop", b.addr)
	a.must("farm", "set", "shop", "contimeout=1", "resurrectime=1")
	a.must("backend", "set", "shop", "all", "0", "mark=7")
	within(t, 3*time.Second, "the backend answers", func() error { _, err := get(url); return err })
	before := b.count.Load()
	var wg sync.WaitGroup
	var failed atomic.Int64
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	const asked = 600 // 200 a second for three seconds
	for range asked {
		<-tick.C
		wg.Go(func() {
			if _, err := get(url); err != nil && failed.Add(1) == 1 {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := b.count.Load() - before; failed.Load() > 0 || n != asked {
		t.Errorf("%d failed; the backend got %d of %d", failed.Load(), n, asked)
	}
	if err := many(url, 2000); err != nil {
		t.Errorf("at full speed: %v", err)
	}
}

var emptied = regexp.MustCompile(`(no-marked-socket)`)

func TestMarkedConnectionsOutliveNetdAndEngine(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	guard(t)
	root := identity{name: "root"}
	a := start(t, root, dataDir(t, root))
	b := newClosing(t, guarded+":0")
	url := a.farm("shop", b.addr)
	a.must("farm", "set", "shop", "contimeout=1", "resurrectime=1")
	a.must("backend", "set", "shop", "all", "0", "mark=7")
	within(t, 3*time.Second, "the backend answers", func() error { _, err := get(url); return err })
	const more = 1000 // more than any reserve holds
	for _, roles := range [][]string{{"netd"}, {"engine"}, {"netd", "engine"}, {"engine", "netd"}} {
		for _, role := range roles {
			a.kill(role)
		}
		within(t, 5*time.Second, strings.Join(roles, " and ")+" died, marked connections are made", func() error { _, err := get(url); return err })
		within(t, 5*time.Second, "and more than were left", func() error { return many(url, more) })
	}
	pid := a.pid("netd")
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	err := many(url, more)
	if err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("with a netd that hangs and no socket left: %v", err)
	}
	a.await(emptied)
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	// Without waiting for a probe: the backend was never considered down.
	within(t, 2*time.Second, "netd goes on, marked connections are made", func() error { _, err := get(url); return err })
	if out := a.must("backend", "list", "shop", "all"); !strings.Contains(out, "up") {
		t.Errorf("the backend is\n%s", out)
	}
}

func TestMarksWithoutRootAreRefusedWithAdvice(t *testing.T) {
	who := asOne()
	if who.name == "root" {
		who = identity{"user", &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	a := start(t, who, dataDir(t, who))
	url := a.farm("shop", backend(t, "one"))
	for _, args := range [][]string{{"backend", "set", "shop", "all", "0", "mark=7"}, {"farm", "set", "shop", "mark=7"}} {
		out, code := a.run(args...)
		if code == 0 || !strings.Contains(out, "mark 7") || !strings.Contains(out, "start Sluice as root, or remove the mark") {
			t.Errorf("%v: exit status %d: %s", args, code, out)
		}
	}
	wantAnswer(t, url, "one")
}

func TestSourceOfABackendMayComeAndGo(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	root := identity{name: "root"}
	a := start(t, root, dataDir(t, root))
	b := newClosing(t, "127.0.0.1:0")
	url := a.farm("shop", b.addr)
	a.must("farm", "set", "shop", "contimeout=1", "resurrectime=1")
	ip(t, "address add 192.0.2.7/32 dev lo")
	a.must("backend", "set", "shop", "all", "0", "source=192.0.2.7", "mark=9")
	from := func() error {
		if _, err := get(url); err != nil {
			return err
		}
		if got := b.last.Load(); got != "192.0.2.7" {
			return fmt.Errorf("the probe came from %v", got)
		}
		return nil
	}
	for range 3 {
		within(t, 4*time.Second, "it is asked from the address", from)
		ip(t, "address del 192.0.2.7/32 dev lo")
		if err := from(); err == nil || !strings.Contains(err.Error(), "503") {
			t.Errorf("without the address: %v", err)
		}
		within(t, time.Second, "the backend is down", func() error {
			if out := a.must("backend", "list", "shop", "all"); !strings.Contains(out, "down") {
				return errors.New(out)
			}
			return nil
		})
		ip(t, "address add 192.0.2.7/32 dev lo")
		a.must("backend", "set", "shop", "all", "0", "mark=0") // the second round has no mark
	}
}
