package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const hangup = syscall.SIGHUP

var applied = regexp.MustCompile(`msg="configuration file applied" role=mgmt changed=(true)`)

// answers reports whether the command line reaches mgmt.
func (a *appliance) answers() error {
	if out, code := a.run("status"); code != 0 {
		return fmt.Errorf("status: exit status %d: %s", code, out)
	}
	return nil
}

// load keeps n clients busy until the returned function is called, which tells
// how many requests were answered and the first failure.
func load(url string, n int) (stop func() (int64, error)) {
	var answered atomic.Int64
	var failure atomic.Pointer[error]
	end := make(chan struct{})
	ended := make(chan struct{}, n)
	for range n {
		go func() {
			defer func() { ended <- struct{}{} }()
			c := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{}}
			defer c.CloseIdleConnections()
			for {
				select {
				case <-end:
					return
				default:
				}
				resp, err := c.Get(url)
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				if err == nil && resp.StatusCode != http.StatusOK {
					err = fmt.Errorf("status %s", resp.Status)
				}
				if err != nil {
					failure.CompareAndSwap(nil, &err)
					return
				}
				answered.Add(1)
			}
		}()
	}
	return func() (int64, error) {
		close(end)
		for range n {
			<-ended
		}
		if err := failure.Load(); err != nil {
			return answered.Load(), *err
		}
		return answered.Load(), nil
	}
}

func TestMgmtAndNetdDieWithoutATraceInTheTraffic(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		b := backend(t, "one")
		url := a.farm("shop", b)
		stop := load(url, 8)
		for _, role := range []string{"mgmt", "netd"} {
			old := a.kill(role)
			within(t, 2*time.Second, role+" is back and the API answers", func() error {
				if a.pid(role) == old {
					return fmt.Errorf("still the old process")
				}
				return a.answers()
			})
		}
		wantAnswer(t, a.farm("later", b), "one") // netd opens listeners again
		answered, err := stop()
		if err != nil || answered == 0 {
			t.Errorf("%d requests answered, then %v", answered, err)
		}
		t.Logf("%d requests answered", answered)
	})
}

func TestEngineComesBackWithItsConfiguration(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		b := backend(t, "one")
		first, second := a.farm("shop", b), a.farm("web", b)
		for range 2 {
			a.kill("engine")
			within(t, time.Second, "the engine answers again", func() error {
				_, err := get(first)
				return err
			})
			wantAnswer(t, second, "one")
		}
		// Both restarted in a row: nothing is left that knows the sockets.
		a.kill("netd")
		a.kill("engine")
		within(t, 3*time.Second, "netd and engine are back", func() error { _, err := get(second); return err })
	})
}

func TestClientConnectingWhileTheEngineIsAwayIsServed(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		url := a.farm("shop", backend(t, "one"))
		a.kill("engine")
		wantAnswer(t, url, "one") // one attempt: netd holds the listening socket
	})
}

func TestInstanceStartsAgainAtOnceAfterItsSupervisorWasKilled(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		data := dataDir(t, who)
		a := start(t, who, data)
		url := a.farm("shop", backend(t, "one"))
		api := a.api
		if err := a.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-a.done
		a.done <- nil
		start(t, who, data, "--api", api) // the same address, which mgmt may hold for a moment
		within(t, 3*time.Second, "the farm answers again", func() error { _, err := get(url); return err })
	})
}

func TestStopEndsEveryProcessAndIsNoFailure(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		a.farm("shop", backend(t, "one"))
		pids := map[string]int{}
		for _, role := range []string{"engine", "mgmt", "netd"} {
			pids[role] = a.pid(role)
		}
		if err := a.stop(); err != nil {
			t.Errorf("exit: %v", err)
		}
		for role, pid := range pids {
			if syscall.Kill(pid, 0) == nil {
				t.Errorf("%s is still there", role)
			}
		}
	})
}

func TestRunningEngineHasNoPrivilege(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.pid("engine")))
		if err != nil {
			t.Fatal(err)
		}
		status := map[string]string{}
		for line := range strings.Lines(string(b)) {
			name, value, _ := strings.Cut(line, ":")
			status[name] = strings.Join(strings.Fields(value), " ")
		}
		none := strings.Repeat("0", 16)
		want := map[string]string{"NoNewPrivs": "1", "CapEff": none, "CapPrm": none, "CapAmb": none}
		if who.name == "root" {
			want["CapBnd"], want["Groups"] = none, ""
			if strings.HasPrefix(status["Uid"], "0 ") {
				t.Errorf("the engine runs as root: %s", status["Uid"])
			}
		}
		if _, err := os.Stat("/proc/sys/kernel/seccomp"); err == nil {
			want["Seccomp"] = "2"
		} else {
			t.Log("not shown: the kernel has no seccomp")
		}
		for name, value := range want {
			if status[name] != value {
				t.Errorf("%s is %q, want %q", name, status[name], value)
			}
		}
	})
}
