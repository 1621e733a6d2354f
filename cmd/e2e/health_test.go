package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// serverVariable makes this test program a backend that responds with its name, in a
// separate process that can be stopped as a whole.
const serverVariable = "SLUICE_E2E_SERVER"

func serveAlone(name string) int {
	ln, err := net.Listen("tcp", os.Getenv(serverVariable+"_AT"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(ln.Addr())
	fmt.Println(http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) })))
	return 1
}

// process starts such a backend at an address, or any with 127.0.0.1:0.
func process(t *testing.T, name, at string) (p *os.Process, addr string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverVariable+"="+name, serverVariable+"_AT="+at)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := fmt.Fscanln(out, &addr); err != nil {
		t.Fatal(err)
	}
	return cmd.Process, addr
}

// checkedFarm is a farm with two backends checked every second.
type checkedFarm struct {
	*appliance
	key, url string
}

// state returns the status of a backend and its number of requests.
func (a *checkedFarm) state(t *testing.T, id int) (status string, requests int) {
	t.Helper()
	var body struct {
		Backends []struct {
			ID       int
			Status   string
			Counters struct{ Requests int }
		}
	}
	code, text := a.rest(a.key, http.MethodGet, "/stats/farms/shop/backends", nil)
	if err := json.Unmarshal([]byte(text), &body); err != nil || code != http.StatusOK {
		t.Fatalf("%d %v %s", code, err, text)
	}
	for _, b := range body.Backends {
		if b.ID == id {
			return b.Status, b.Counters.Requests
		}
	}
	t.Fatalf("no backend %d: %s", id, text)
	return "", 0
}

// becomes waits for a status.
func (a *checkedFarm) becomes(t *testing.T, limit time.Duration, id int, want string) {
	t.Helper()
	within(t, limit, fmt.Sprintf("backend %d is %s", id, want), func() error {
		if is, _ := a.state(t, id); is != want {
			return fmt.Errorf("it is %s", is)
		}
		return nil
	})
}

// A backend that hangs accepts connections and never responds, which only a check finds; a
// killed one refuses them. Clients notice neither while the other backend works.
func TestChecksTakeDeadBackendsOutOfTraffic(t *testing.T) {
	t.Parallel() // it mostly waits
	asEachUser(t, func(t *testing.T, who identity) {
		first, at := process(t, "one", "127.0.0.1:0")
		a := &checkedFarm{appliance: start(t, who, dataDir(t, who))}
		a.url, a.key = a.farm("shop", at), a.appliance.key()
		a.must("backend", "create", "shop", "all", backend(t, "two"))
		a.must("farm", "set", "shop", "restimeout=1")
		a.must("service", "set", "shop", "all", "retry_on=timeout", "retries=2", "retry_budget=100")
		a.must("check", "create", "alive", `command=check_tcp -H HOST -p PORT -E -s 'GET / HTTP/1.0\r\n\r\n' -e 'HTTP/1.0 200'`, "interval=1", "timeout=1")
		a.must("check", "link", "alive", "shop", "all")
		a.becomes(t, 5*time.Second, 0, "up")
		wanted := map[string]bool{}
		ask := func(n int) {
			t.Helper()
			for range n {
				got, err := get(a.url)
				if err != nil {
					t.Errorf("a client got %q, %v", got, err)
				}
				wanted[got] = true
			}
		}
		ask(10)
		for _, death := range []struct {
			name string
			dies func()
			back func()
		}{
			{"it hangs", func() { _ = first.Signal(syscall.SIGSTOP) }, func() { _ = first.Signal(syscall.SIGCONT) }},
			{"it is killed", func() { _ = first.Kill(); _, _ = first.Wait() }, func() { first, _ = process(t, "one", at) }},
		} {
			death.dies()
			ask(4)
			within(t, 5*time.Second, death.name+": the check finds it", func() error { // an interval and a timeout are two
				if why := a.must("check", "explain", "shop", "all", "0"); !strings.Contains(why, "down: it fails check alive") {
					return errors.New(why)
				}
				return nil
			})
			_, before := a.state(t, 0)
			ask(20)
			if _, after := a.state(t, 0); after != before {
				t.Errorf("%s: it was sent %d requests after that", death.name, after-before)
			}
			if list := a.must("farm", "list"); !strings.Contains(list, "problem") || !strings.Contains(list, "fails check alive") {
				t.Errorf("%s: %s", death.name, list)
			}
			death.back()
			a.becomes(t, 10*time.Second, 0, "up")
			clear(wanted)
			ask(10)
			if !wanted["one"] || !wanted["two"] {
				t.Errorf("%s and came back: answers %v", death.name, wanted)
			}
		}
		// A new mgmt continues with the previous results.
		_ = first.Kill()
		a.becomes(t, 5*time.Second, 0, "down")
		a.kill("mgmt")
		ask(10)
		a.becomes(t, 10*time.Second, 0, "down")
		a.must("check", "unlink", "alive", "shop", "all")
		if why := a.must("check", "explain", "shop", "all", "1"); !strings.Contains(why, "no health check is linked") {
			t.Error(why)
		}
	})
}

// Kernel rules follow a check too, here of another port than clients use.
func TestChecksTakeDeadBackendsOutOfTheKernel(t *testing.T) {
	notUnderRace(t)
	s := housetest.Plan{Backends: 2, Sources: 4}.Build(housetest.New(t))
	s.Client.Route("default via " + housetest.ApplianceFront4)
	vip, _ := s.VIP(200)
	for i, b := range s.Backends {
		b.Server([]string{"b1", "b2"}[i], 8080)
	}
	health := s.Backends[0].Listen("tcp", "10.10.2.11:9090")
	defer s.Backends[1].Listen("tcp", "10.10.2.12:9090").Close()
	a, _ := installed(t, s, "--config", file(t, `checks:
- {name: alive, command: check_tcp -H HOST -p 9090, interval: 1, timeout: 1}
farms:
- {name: web, profile: l4xnat, vip: `+vip+`, vport: 80, protocol: tcp, nattype: dnat, algorithm: roundrobin, datapath: kernel, farmguardian: alive, backends: [{ip: 10.10.2.11, port: 8080}, {ip: 10.10.2.12, port: 8080}]}
`))
	servers := func() map[string]bool {
		out := map[string]bool{}
		for range 6 {
			got, err := s.Client.Ask("tcp", netip.AddrPort{}, vip+":80")
			if err != nil {
				t.Fatal(err)
			}
			got.Close()
			out[got.Server] = true
		}
		return out
	}
	only := func(want ...string) {
		t.Helper()
		within(t, 10*time.Second, "answers come from "+strings.Join(want, " and "), func() error {
			got := servers()
			for _, name := range want {
				if !got[name] || len(got) != len(want) {
					return fmt.Errorf("%v", got)
				}
			}
			return nil
		})
	}
	only("b1", "b2")
	_ = health.Close()
	only("b2")
	if why := a.must("check", "explain", "web", "0"); !strings.Contains(why, "connection refused") {
		t.Error(why)
	}
	health = s.Backends[0].Listen("tcp", "10.10.2.11:9090")
	defer health.Close()
	only("b1", "b2")
}
