package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

const hangup = syscall.SIGHUP

// answers checks that the command line reaches mgmt.
func (a *appliance) answers() error {
	if out, code := a.run("status"); code != 0 {
		return fmt.Errorf("status: exit status %d: %s", code, out)
	}
	return nil
}

func TestCrashesOfMgmtNetdAndProgdDoNotAffectTraffic(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		b := mirror(t, "one")
		tr := under(t, hostOf(a.farm("shop", b)), 8, 8, time.Millisecond)
		for _, role := range []string{"mgmt", "netd", "progd", "mgmt", "netd"} {
			old := a.kill(role)
			within(t, 2*time.Second, role+" is back and the API answers", func() error {
				if a.pid(role) == old {
					return fmt.Errorf("still the old process")
				}
				return a.answers()
			})
		}
		wantAnswer(t, a.farm("later", backend(t, "one")), "one") // netd opens listeners again
		tr.flawless(t)
	})
}

func TestRestartedEngineKeepsItsConfiguration(t *testing.T) {
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
		// Both restarted in a row: no process knows the sockets.
		a.kill("netd")
		a.kill("engine")
		within(t, 3*time.Second, "netd and engine are back", func() error { _, err := get(second); return err })
	})
}

// statistics holds the tested values of one farm.
type statistics struct {
	Backends []struct {
		Status      string `json:"status"`
		Established uint64 `json:"established"`
		Counters    struct{ Requests uint64 }
	}
	Farm struct {
		Established uint64
		Counters    struct {
			Requests uint64
			BytesOut uint64 `json:"bytes_out"`
		}
	}
}

func (a *appliance) statistics(key, farm string) (s statistics) {
	a.t.Helper()
	code, text := a.rest(key, http.MethodGet, "/stats/farms/"+farm, nil)
	if err := json.Unmarshal([]byte(text), &s); err != nil || code != http.StatusOK {
		a.t.Fatalf("%d %s: %v", code, text, err)
	}
	return s
}

func TestRestartedEngineKeepsHealthAndCounters(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		url := a.farm("shop", backend(t, "one"))
		a.must("farm", "set", "shop", "resurrectime=300", "contimeout=2")
		a.must("backend", "create", "shop", "all", fmt.Sprintf("127.0.0.1:%d", freePort(t)))
		key := a.key()
		const asked = 40
		for range asked {
			wantAnswer(t, url, "one")
		}
		for range 5 { // connections and an exchange that die with the engine
			c, err := net.Dial("tcp4", hostOf(url))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\n")
		}
		within(t, 2*time.Second, "the open connections are counted", func() error {
			if n := a.statistics(key, "shop").Farm.Established; n != 5 {
				return fmt.Errorf("%d are", n)
			}
			return nil
		})
		document, before := a.must("export"), a.statistics(key, "shop")
		if before.Backends[1].Status != "down" || before.Farm.Counters.Requests != asked {
			t.Fatalf("statistics before: %+v", before)
		}
		a.kill("engine")
		within(t, time.Second, "the engine answers again", func() error { _, err := get(url); return err })
		after := a.statistics(key, "shop")
		if after.Backends[1].Status != "down" {
			t.Errorf("a backend that was down is %q, want %q", after.Backends[1].Status, "down")
		}
		if n := after.Farm.Counters.Requests; n <= asked {
			t.Errorf("%d requests counted, there were %d before", n, asked)
		}
		if after.Farm.Counters.BytesOut <= before.Farm.Counters.BytesOut || after.Backends[0].Counters.Requests <= before.Backends[0].Counters.Requests {
			t.Errorf("statistics before %+v, after %+v", before, after)
		}
		within(t, 2*time.Second, "no connection of the dead engine counts", func() error { // the last client has just left
			if now := a.statistics(key, "shop"); now.Farm.Established != 0 || now.Backends[0].Established != 0 {
				return fmt.Errorf("%+v", now)
			}
			return nil
		})
		if now := a.must("export"); now != document {
			t.Errorf("the configuration was\n%s\nand is\n%s", document, now)
		}
	})
}

func TestEngineDiesUnderLoadAndServesAgainWithinASecond(t *testing.T) {
	program, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	asEachUser(t, func(t *testing.T, who identity) {
		a := startIn(t, who, dataDir(t, who), surroundings{program: program})
		addr := hostOf(a.farm("shop", mirror(t, "one")))
		for range 3 {
			tr := under(t, addr, 4, 4, time.Millisecond)
			a.kill("engine")
			within(t, time.Second, "every new connection is served", func() error {
				for i := range 20 {
					c, err := dialWire(addr)
					if err != nil {
						return err
					}
					_, err = c.exchange("/again", i, false)
					c.close()
					if err != nil {
						return err
					}
				}
				return nil
			})
			tr.stop() // open connections were unavoidably cut
			under(t, addr, 8, 8, time.Millisecond).flawless(t)
		}
	})
}

func TestClientsConnectingDuringARestartAreServed(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		url := a.farm("shop", backend(t, "one"))
		a.kill("engine")
		wantAnswer(t, url, "one") // one attempt: netd keeps the listening socket
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
		start(t, who, data, "--api", api) // the same address, which mgmt may still hold briefly
		within(t, 3*time.Second, "the farm answers again", func() error { _, err := get(url); return err })
	})
}

func TestStopEndsEveryProcessWithStatusZero(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		a.farm("shop", backend(t, "one"))
		pids := map[string]int{}
		for _, role := range []string{"engine", "mgmt", "netd", "progd"} {
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
		status := kernelStatus(t, a.pid("engine"))
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
