package demo

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/role"
	"github.com/sluicelb/sluice/cmd/supervisor"
)

// TestMain runs the demonstration if DEMO names a data directory, or one of its roles.
func TestMain(m *testing.M) {
	status := 0
	if name, ok := role.Named(os.Args); ok {
		status = role.Main(name, "1.2.3")
	} else if data := os.Getenv("DEMO"); data != "" {
		if err := Run(context.Background(), Options{Data: data, Log: supervisor.Logger("supervisor"), GUI: true}); err != nil {
			fmt.Fprintln(os.Stderr, "demo:", err)
			status = 1
		}
	} else {
		status = m.Run()
	}
	supervisor.FlushLog()
	os.Exit(status)
}

// runDemo runs the demonstration until it has printed its text, calls use with it, and
// stops it. It returns the error output.
func runDemo(t *testing.T, data string, use func(said string)) string {
	t.Helper()
	var wrong bytes.Buffer
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "DEMO="+data)
	cmd.Stderr = &wrong
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var said strings.Builder
	for in := bufio.NewReader(out); ; {
		line, err := in.ReadString('\n')
		if said.WriteString(line); err != nil {
			break
		}
		if strings.Contains(line, "--mode drain") {
			use(said.String())
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
	}
	if err := cmd.Wait(); err != nil {
		return wrong.String()
	}
	return ""
}

func directory(t *testing.T) string {
	t.Helper()
	data, err := os.MkdirTemp("", "demo") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(data) })
	return data
}

func TestDemoWorksAsPrinted(t *testing.T) {
	data := directory(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second start replaces the farm of the first
		problem := runDemo(t, data, func(said string) {
			_, rest, _ := strings.Cut(said, `farm "demo"  http://`)
			farm, _, _ := strings.Cut(rest, "/")
			host, port, err := net.SplitHostPort(farm)
			if err != nil || host != "127.0.0.1" || strings.Contains(said, "Port 8080 is taken") != (port != "8080") {
				t.Fatalf("output:\n%s", said)
			}
			for _, want := range []string{"API          https://127.0.0.1:4", "curl http://" + farm + "/\n", self + " --data " + data + " farm list\n", " --data " + data + " key create\n"} {
				if !strings.Contains(said, want) {
					t.Errorf("the output lacks %q:\n%s", want, said)
				}
			}
			c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: 20 * time.Second}
			signsIn(t, c, said)
			heard := map[string]int{}
			for range 4 {
				resp, err := c.Get("http://" + farm + "/x?y")
				if err != nil {
					t.Fatal(err)
				}
				b, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				name := resp.Header.Get("X-Backend")
				if heard[name]++; string(b) != fmt.Sprintf("Hello from backend %q.\nGET /x?y for %s, forwarded for 127.0.0.1\n", name, farm) {
					t.Errorf("%s answers %q", name, b)
				}
			}
			if heard["blue"] != 2 || heard["green"] != 2 {
				t.Errorf("answers came from %v", heard)
			}
			var farms []struct{ FarmName string }
			if err := newClient(filepath.Join(data, "mgmt.sock")).call(t.Context(), http.MethodGet, "/farms", nil, &farms); err != nil || len(farms) != 1 || farms[0].FarmName != "demo" {
				t.Errorf("%v, %v", farms, err)
			}
			err = newClient(filepath.Join(data, "mgmt.sock")).call(t.Context(), http.MethodPut, "/config", map[string]any{"farms": 7}, nil)
			if err == nil || !strings.HasPrefix(err.Error(), "PUT /config: 400 Bad Request: ") || strings.Contains(err.Error(), "{") {
				t.Errorf("refused: %v", err)
			}
		})
		if problem != "" {
			t.Fatal(problem)
		}
	}
}

// signsIn logs in as the guest with the printed password and checks that the farm is
// visible.
func signsIn(t *testing.T, c *http.Client, said string) {
	t.Helper()
	m := regexp.MustCompile(`GUI +(https://\S+)/gui/   user "(\S+)", password "(\S+)"`).FindStringSubmatch(said)
	if m == nil {
		t.Fatalf("the output lacks the GUI:\n%s", said)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, m[1]+"/api/v4.0/session", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.SetBasicAuth(m[2], m[3])
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	r, _ = http.NewRequestWithContext(t.Context(), http.MethodGet, m[1]+"/api/v4.0/farms/demo", nil)
	for _, cookie := range resp.Cookies() {
		r.AddCookie(cookie)
	}
	if resp, err = c.Do(r); err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != http.StatusOK {
		t.Errorf("the guest is answered %s", resp.Status)
	}
}

// Existing farms of others are not replaced.
func TestDemoKeepsForeignFarms(t *testing.T) {
	data := directory(t)
	problem := runDemo(t, data, func(string) {
		err := newClient(filepath.Join(data, "mgmt.sock")).call(t.Context(), http.MethodPost, "/farms", map[string]any{"farmname": "mine", "profile": "http", "vip": "127.0.0.1", "vport": "65123"}, nil)
		if err != nil {
			t.Error(err)
		}
	})
	if problem != "" {
		t.Fatal(problem)
	}
	problem = runDemo(t, data, func(said string) { t.Errorf("output:\n%s", said) })
	if !strings.Contains(problem, `demo: preparing the demonstration farm: the data directory has a farm "mine", which the demonstration would replace`) {
		t.Errorf("it failed with %s", problem)
	}
}

// Nor is an existing user with the name of the guest.
func TestDemoKeepsForeignUsers(t *testing.T) {
	data := directory(t)
	problem := runDemo(t, data, func(string) {
		c := newClient(filepath.Join(data, "mgmt.sock"))
		if err := c.call(t.Context(), http.MethodDelete, "/rbac/groups/demo", nil, nil); err != nil {
			t.Error(err)
		}
	})
	if problem != "" {
		t.Fatal(problem)
	}
	problem = runDemo(t, data, func(said string) { t.Errorf("output:\n%s", said) })
	if !strings.Contains(problem, `the data directory has a user or group "demo", which the demonstration would replace`) {
		t.Errorf("it failed with %s", problem)
	}
}

// The demonstration replaces its own leftovers, and everything in its own directory. An
// error of the API ends it.
func TestTheDemonstrationBecomesTheConfiguration(t *testing.T) {
	const made = `PUT {"farms":[{"name":"demo","profile":"http","services":[{"backends":[{"alias":"blue","ip":"127.0.0.1","port":8181},{"alias":"green","ip":"127.0.0.1","port":8183}],"name":"all"}],"vip":"127.0.0.1","vport":8085}]}` + "\n"
	for _, c := range []struct {
		present string
		own     bool
		refused int // number of the failing request
		want    string
		err     string
	}{
		{`{"params":[]}`, false, 0, "GET \nPUT {\"farms\":[]}\n" + made, ""},
		{`{"params":[{"farmname":"demo"}]}`, false, 0, "GET \nPUT {\"farms\":[]}\n" + made, ""},
		{`{"params":[{"farmname":"demo"},{"farmname":"mine"}]}`, false, 0, "GET \n", `has a farm "mine"`},
		{`{"params":[{"farmname":"demo"},{"farmname":"mine"}]}`, true, 0, "GET \nPUT {\"farms\":[]}\n" + made, ""},
		{`{"params":[]}`, true, 1, "GET \n", "GET /farms: 300 Multiple Choices: no"},
		{`{"params":[]}`, true, 2, "GET \nPUT {\"farms\":[]}\n", "PUT /config: 300 Multiple Choices: no"},
		{`{"params":[]}`, true, 3, "GET \nPUT {\"farms\":[]}\n" + made, "PUT /config: 300 Multiple Choices: no"},
		{`{"params":7}`, true, 0, "GET \n", "cannot unmarshal"},
	} {
		socket := filepath.Join(directory(t), "sock")
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		var heard strings.Builder
		asked := 0
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(&heard, "%s %s\n", r.Method, body)
			if (r.Method == http.MethodPut) != (r.Header.Get("Content-Type") == "application/json") {
				t.Errorf("%s is sent as %q", r.Method, r.Header.Get("Content-Type"))
			}
			switch asked++; {
			case asked == c.refused:
				w.WriteHeader(http.StatusMultipleChoices)
				io.WriteString(w, "no\n")
			case r.Method == http.MethodGet:
				io.WriteString(w, c.present)
			}
		})}
		go server.Serve(l)
		backends := []backend{{"blue", netip.MustParseAddrPort("127.0.0.1:8181")}, {"green", netip.MustParseAddrPort("127.0.0.1:8183")}}
		err = prepare(t.Context(), newClient(socket), c.own, 8085, backends)
		server.Close()
		if heard.String() != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v: output\n%s%v", c, &heard, err)
		}
	}
}

func TestAnotherPortOfTheFarmIsExplained(t *testing.T) {
	for port, want := range map[int]bool{farmPort: false, farmPort + 1: true} {
		var out strings.Builder
		o := Options{Out: &out, GUI: true}
		o.explain(supervisor.Instance{Data: "/d", API: "127.0.0.1:4445"}, port, guest{"demo", "pass"})
		if said := out.String(); strings.Contains(said, fmt.Sprintf("\nPort 8080 is taken by another program, so the farm has port %d.\n", port)) != want ||
			!strings.Contains(said, fmt.Sprintf("\n  curl http://127.0.0.1:%d/\n", port)) || !strings.Contains(said, " https://127.0.0.1:4445/api/v4.0/farms\n") || !strings.Contains(said, `GUI          https://127.0.0.1:4445/gui/   user "demo", password "pass"`) {
			t.Errorf("port %d, output:\n%s", port, said)
		}
	}
}

func TestUnbuiltGUIIsNotOffered(t *testing.T) {
	var out strings.Builder
	o := Options{Out: &out}
	o.explain(supervisor.Instance{Data: "/d", API: "127.0.0.1:4445"}, farmPort, guest{"demo", "pass"})
	if said := out.String(); strings.Contains(said, "/gui/") || !strings.Contains(said, "GUI          none: this program was built without it, for want of Node.js\n") ||
		!strings.Contains(said, `  log in       https://127.0.0.1:4445/api/v4.0/session   user "demo", password "pass"`) {
		t.Errorf("output:\n%s", said)
	}
}

func TestTakenPortIsSkipped(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr).Port
	if port, err := freePort(taken); err != nil || port <= taken || port >= taken+tries {
		t.Errorf("after %d comes %d, %v", taken, port, err)
	}
	if port, err := freePort(1 << 16); err == nil || !strings.Contains(err.Error(), "no free port on 127.0.0.1 from 65536 to 65585") {
		t.Errorf("%d, %v", port, err)
	}
	o := Options{Data: "/d"}
	if err := o.fill(); err != nil || o.Data != "/d" || o.Out != os.Stdout || !strings.HasPrefix(o.API, "127.0.0.1:4") {
		t.Errorf("%+v, %v", o, err)
	}
	o = Options{API: "127.0.0.1:1", Out: io.Discard}
	t.Setenv("XDG_STATE_HOME", "/state")
	want := "/state/sluice-demo"
	if os.Geteuid() == 0 {
		want = "/var/lib/sluice-demo"
	}
	if err := o.fill(); err != nil || o.Data != want || o.Out != io.Discard || o.API != "127.0.0.1:1" {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestBackendsEndWithTheDemonstration(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	list, err := startBackends(ctx, "a", "b")
	if err != nil || len(list) != 2 || list[0].name != "a" || list[1].addr.Port() <= list[0].addr.Port() || list[0].addr.Port() < backendPort {
		t.Fatalf("%v, %v", list, err)
	}
	cancel()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		c, err := net.Dial("tcp", list[1].addr.String())
		if err != nil {
			break
		}
		c.Close()
		if time.Now().After(limit) {
			t.Fatal("it still listens")
		}
	}
}

func TestProgramPathIsShownAsTyped(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{dir + "/bin/sluice": "./bin/sluice", "/usr/bin/sluice": "/usr/bin/sluice", filepath.Dir(dir) + "/sluice": filepath.Dir(dir) + "/sluice"} {
		if got := shortest(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	if got := pathOf("farms", "a/b c"); got != "/farms/a%2Fb%20c" {
		t.Error(got)
	}
	for content, want := range map[string]string{`{"message":"no"}`: "no", `{"message":""}`: `{"message":""}`, " plain\n": "plain"} {
		if got := message([]byte(content)); got != want {
			t.Errorf("%s: got %q, want %q", content, got, want)
		}
	}
}

func TestUnresponsiveApplianceIsAnError(t *testing.T) {
	if err := newClient(filepath.Join(t.TempDir(), "none.sock")).call(t.Context(), "GET", "/status", nil, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
