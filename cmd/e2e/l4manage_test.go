package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/sysnet/housetest"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// managed holds the output of commands with --json about connections, sessions and counters.
type managed struct {
	Params []struct {
		ID            int
		Client, State string
		BackendIP     string `json:"backend_ip"`
		Type          string
	}
	Total    int `json:"total_connections"`
	Backends []struct {
		Established uint64
		Counters    struct {
			Connects uint64
			BytesIn  uint64 `json:"bytes_in"`
			BytesOut uint64 `json:"bytes_out"`
		}
	}
	Warning string
}

func (a *appliance) managed(args ...string) (out managed) {
	a.t.Helper()
	if err := json.Unmarshal([]byte(a.must(append(args, "--json")...)), &out); err != nil {
		a.t.Fatal(err)
	}
	return out
}

// For an operator, connections, sessions, counters and maintenance do not depend on the data
// path.
func TestL4FarmsAreManagedUnderTraffic(t *testing.T) {
	s := housetest.Plan{Backends: 2, Sources: 4}.Build(housetest.New(t))
	vip, _ := s.VIP(200)
	for i, b := range s.Backends {
		b.Server(fmt.Sprintf("b%d", i), 8080)
	}
	a, _ := installed(t, s)
	for i, path := range []string{"userspace", "kernel"} {
		t.Run(path, func(t *testing.T) {
			a.t = t
			port := 81 + i
			a.must("farm", "create", path, "--profile", "l4xnat", "vip="+vip, fmt.Sprintf("vport=%d", port), "persistence=ip", "algorithm=roundrobin", "datapath="+path)
			a.must("backend", "add", path, "10.10.2.11:8080")
			a.must("backend", "add", path, "10.10.2.12:8080")
			ask := func(from byte) *housetest.Answer {
				t.Helper()
				got, err := s.Client.Ask("tcp", netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 10, 1, from}), 0), fmt.Sprintf("%s:%d", vip, port))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(got.Close)
				return got
			}
			open := ask(100)
			at := map[string]int{"b0": 0, "b1": 1}[open.Server]

			list := a.managed("conn", "list", path)
			if list.Total != 1 || len(list.Params) != 1 || list.Params[0].Client != "10.10.1.100" || list.Params[0].State != "established" || list.Params[0].ID != at {
				t.Errorf("connections: %+v", list)
			}
			if none := a.managed("conn", "list", path, "--backend", fmt.Sprint(1-at)); none.Total != 0 {
				t.Errorf("connections of the other backend: %+v", none)
			}
			sysnettest.Eventually(t, func() (string, bool) {
				got := a.managed("stats", path)
				b := got.Backends[at]
				return fmt.Sprintf("%+v", got), b.Established == 1 && b.Counters.Connects == 1 && b.Counters.BytesIn > 0 && got.Warning == ""
			})
			if got := a.managed("session", "list", path); len(got.Params) != 1 || got.Params[0].Client != "10.10.1.100" || got.Params[0].ID != at || got.Params[0].Type != "dynamic" {
				t.Errorf("sessions: %+v", got)
			}
			a.must("session", "create", path, "10.10.1.101", fmt.Sprint(at))
			for range 3 {
				if got := ask(101); got.Server != open.Server {
					t.Errorf("a static session leads to %s, want %s", got.Server, open.Server)
				}
			}
			if got := a.managed("session", "list", path, "--session", "10.10.1.101"); len(got.Params) != 1 || got.Params[0].Type != "static" {
				t.Errorf("the static session: %+v", got)
			}
			a.must("session", "delete", path, "10.10.1.100")
			if got := a.managed("session", "list", path); len(got.Params) != 1 || got.Params[0].Type != "static" {
				t.Errorf("sessions left: %+v", got)
			}
			ask(100)
			if out := a.must("session", "flush", path); !strings.HasPrefix(out, "1 dynamic") {
				t.Errorf("flushed: %s", out)
			}
			if out := a.must("farm", "explain", path); !strings.Contains(out, "runs in ") || strings.Contains(out, "chain farm") != (path == "kernel") {
				t.Errorf("explained: %s", out)
			}
			if path == "userspace" {
				if out := a.must("explain", path, "--from", "10.10.1.101"); !strings.Contains(out, "10.10.2.1"+fmt.Sprint(at+1)) {
					t.Errorf("a connection explained: %s", out)
				}
			}
			a.must("backend", "maintenance", path, fmt.Sprint(at), "--mode", "cut")
			sysnettest.Eventually(t, func() (string, bool) {
				got := a.managed("conn", "list", path, "--backend", fmt.Sprint(at))
				return fmt.Sprintf("%+v", got), got.Total == 0
			})
			if got := ask(102); got.Server == open.Server {
				t.Error("a backend that was cut serves")
			}
			left := a.managed("conn", "list", path).Total
			if out := a.must("conn", "flush", path); left == 0 || !strings.HasPrefix(out, fmt.Sprintf("%d connections", left)) {
				t.Errorf("flush: %s", out)
			}
			sysnettest.Eventually(t, func() (string, bool) {
				got := a.managed("conn", "list", path)
				return fmt.Sprintf("%+v", got), got.Total == 0
			})
		})
	}
	a.t = t
	if out := a.must("system", "kernel"); !strings.Contains(out, "inet sluice") {
		t.Errorf("the kernel: %s", out)
	}
	if out, code := a.run("system", "clean"); code == 0 || !strings.Contains(out, "the appliance runs") {
		t.Errorf("clean while the appliance runs: %d, %s", code, out)
	}
	if out := s.Appliance.Run("nft", "list", "tables"); !strings.Contains(out, "inet sluice") {
		t.Errorf("left: %s", out)
	}
}
