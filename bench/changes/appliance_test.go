package changes

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/backend"
	"github.com/sluicelb/sluice/bench/measure"
	"github.com/sluicelb/sluice/bench/proxytest"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

const (
	farms     = 1000
	each      = 10 // backends
	firstPort = 2000
	api       = "127.0.0.1:9100"
	base      = "https://" + api + "/api/v4.0"
	loaded    = "farm0000" // has the traffic
	answering = "backend"  // the role of the test program
)

func TestMain(m *testing.M) {
	proxytest.Main(m, map[string]func() error{answering: answer})
}

// answer serves all addresses of the machine: every backend is this server.
func answer() error {
	s, err := backend.Listen(netip.MustParseAddrPort("0.0.0.0:8080"))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	out := json.NewEncoder(os.Stdout)
	return s.Serve(0, func(c backend.Counters) { _ = out.Encode(c) })
}

// appliance is a machine with Sluice, a server and clients.
type appliance struct {
	t *testing.T
	*housetest.Namespace
	server *proxytest.Player
	client *http.Client
	key    string
	roles  map[string]measure.Process
	kind   kind
}

// start starts the appliance, server and clients, and places them on CPUs.
func start(t *testing.T, kind kind) *appliance {
	t.Helper()
	a := &appliance{t: t, kind: kind, Namespace: housetest.New(t).Namespace("machine")}
	a.server = proxytest.Play(t, a.Namespace, answering)
	a.server.Await()
	if kind.neighbours {
		a.addNeighbours()
	}
	data := t.TempDir()
	p := a.Serve("env", "SLUICE_LOOPS=1", "SLUICE_LOG=warn", proxytest.Find(t, "sluice"), "run", "--data", data, "--api", api)
	file := filepath.Join(t.TempDir(), "farms.yaml")
	if err := os.WriteFile(file, kind.document(), 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) (out string) {
		proxytest.Eventually(t, func() (err error) {
			out, err = a.Try("", proxytest.Find(t, "sluice"), append(args, "--data", data)...)
			return err
		})
		return out
	}
	command("status")
	command("apply", "--yes", "-f", file)
	lines := strings.Fields(command("key", "create", "bench"))
	a.key = lines[len(lines)-1]
	a.client = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		DialContext: a.Dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 1}}
	a.find(p)
	a.place()
	return a
}

// addNeighbours adds an Ethernet with the VIP of farms and the MAC addresses of their backends.
func (a *appliance) addNeighbours() {
	vip, backends := a.kind.addresses()
	a.Run("ip", "link", "add", "front", "type", "veth", "peer", "name", "far")
	a.Run("ip", "link", "set", "far", "up")
	a.Run("ip", "link", "set", "front", "up")
	a.Run("ip", "address", "add", vip+"/16", "dev", "front")
	for i := range each {
		mac := fmt.Sprintf("02:00:00:00:00:%02x", i+1)
		a.Run("ip", "neighbour", "add", backends+strconv.Itoa(i+1), "lladdr", mac, "dev", "front", "nud", "permanent")
	}
}

// find finds the processes of the roles by name.
func (a *appliance) find(p *exec.Cmd) {
	a.t.Helper()
	all, err := measure.Tree(p.Process.Pid)
	if err != nil {
		a.t.Fatal(err)
	}
	a.roles = map[string]measure.Process{"supervisor": all[0]}
	for _, one := range all[1:] {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", one.PID))
		if err != nil {
			a.t.Fatal(err)
		}
		name, _, _ := strings.Cut(string(line), "\x00")
		a.roles[strings.TrimPrefix(name, "sluice: ")] = one
	}
	if len(a.roles) != 5 || a.roles["engine"].PID == 0 || a.roles["mgmt"].PID == 0 || a.roles["netd"].PID == 0 || a.roles["progd"].PID == 0 {
		a.t.Fatalf("the roles are %v", a.roles)
	}
}

// place pins the engine to the first CPU, and the rest of the appliance to the last.
func (a *appliance) place() {
	for role, p := range a.roles {
		cpu := runtime.NumCPU() - 1
		if role == "engine" {
			cpu = 0
		}
		a.Run("taskset", "-a", "-p", "-c", strconv.Itoa(cpu), strconv.Itoa(p.PID))
	}
}

// used returns the CPU time of a role so far.
func (a *appliance) used(role string) time.Duration {
	a.t.Helper()
	c, err := measure.Usage([]measure.Process{a.roles[role]})
	if err != nil {
		a.t.Fatal(err)
	}
	return c.Sched
}

// answered returns the number of requests served by the backend.
func (a *appliance) answered() uint64 {
	a.t.Helper()
	if _, err := io.WriteString(a.server.In, "\n"); err != nil {
		a.t.Fatal(err)
	}
	var c backend.Counters
	a.server.Read(&c)
	return c.Requests
}

// put makes a change through the API and returns its duration.
func (a *appliance) put(path, body string) time.Duration {
	a.t.Helper()
	r, err := http.NewRequest(http.MethodPut, base+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("ZAPI_KEY", a.key)
	begun := time.Now()
	res, err := a.client.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	took := time.Since(begun)
	if err != nil || res.StatusCode != http.StatusOK {
		a.t.Fatalf("PUT %s: %s %v %s", path, res.Status, err, text)
	}
	return took
}

// change sets another weight of a backend of the loaded farm.
func (a *appliance) change(n int) time.Duration {
	return a.put(fmt.Sprintf("/farms/%s%s/%d", loaded, a.kind.backends, a.kind.first+n%each), fmt.Sprintf(`{"weight":%d}`, 1+n/each%9))
}

// profile records profiles of mgmt, engine and netd with perf until end is called, if
// SLUICE_CHANGES_PROFILE names a folder.
func (a *appliance) profile() (end func()) {
	a.t.Helper()
	to := os.Getenv("SLUICE_CHANGES_PROFILE")
	if to == "" {
		return func() {}
	}
	var all []*exec.Cmd
	for _, role := range []string{"mgmt", "engine", "netd"} {
		cmd := exec.Command(proxytest.Find(a.t, "perf"), "record", "-q", "-g", "-F", "4000", "-o", filepath.Join(to, role+".perf"), "-p", strconv.Itoa(a.roles[role].PID))
		if err := cmd.Start(); err != nil {
			a.t.Fatal(err)
		}
		all = append(all, cmd)
	}
	time.Sleep(time.Second) // perf does not report its start
	return func() {
		for _, cmd := range all {
			_ = cmd.Process.Signal(os.Interrupt)
			_ = cmd.Wait()
		}
	}
}

// wrk starts wrk for the duration long on the CPU on.
func (a *appliance) wrk(on int, long time.Duration, args ...string) (wait func() string) {
	a.t.Helper()
	args = append([]string{"-c", strconv.Itoa(on), proxytest.Find(a.t, "wrk"), "-t1", fmt.Sprintf("-d%d", int(long.Seconds())), "--latency"}, args...)
	cmd := exec.Command("taskset", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := a.Start(cmd); err != nil {
		a.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	a.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return func() string {
		a.t.Helper()
		if err := <-ended; err != nil {
			a.t.Fatalf("wrk: %v %s", err, out.String())
		}
		for _, bad := range []string{"Non-2xx", "Socket errors"} {
			if strings.Contains(out.String(), bad) {
				a.t.Errorf("%s", out.String())
			}
		}
		return out.String()
	}
}

// traffic loads the farm.
func (a *appliance) traffic(on int, long time.Duration) (wait func() string) {
	return a.wrk(on, long, "-c64", fmt.Sprintf("http://127.0.0.1:%d/128", firstPort))
}

// redirected returns the redirect target of another farm.
func (a *appliance) redirected(port int) string {
	a.t.Helper()
	conn, err := a.Dial(a.t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		a.t.Fatal(err)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }, DisableKeepAlives: true}}
	res, err := client.Get("http://a.test/")
	if err != nil {
		a.t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.Header.Get("Location")
}
