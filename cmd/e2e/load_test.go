package e2e_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// Clients are sent to the least loaded farm: of this Sluice, or of another one queried by a
// check.
func TestLeastLoadedFarmOfTwoAppliancesIsReturned(t *testing.T) {
	t.Parallel()
	needs(t, "dig")
	who := asOne()
	near, far := start(t, who, dataDir(t, who)), start(t, who, dataDir(t, who))
	ports := freePorts(t, 2)
	dns, port := ports[0], ports[1]
	backend := keeping(t)
	for a, vip := range map[*appliance]string{near: "127.0.0.1", far: "127.0.0.2"} {
		a.must("farm", "create", "shop", "--profile", "l4xnat", "vip="+vip, fmt.Sprintf("vport=%d", port), "protocol=tcp", "nattype=nat", "datapath=userspace")
		host, number, _ := net.SplitHostPort(backend)
		a.must("backend", "create", "shop", "ip="+host, "port="+number)
	}
	key := strings.TrimSpace(far.must("key", "create", "-q"))
	near.must("farm", "create", "names", "--profile", "gslb", "vip=127.0.0.1", fmt.Sprintf("vport=%d", dns))
	near.must("zone", "create", "names", "example.com")
	near.must("service", "create", "names", "web", "algorithm=load", fmt.Sprintf("deftcpport=%d", port))
	near.must("check", "create", "far", "command=check_sluice -H HOST -p PORT --api "+far.api+" -k "+key, "interval=1", "timeout=1")
	near.must("check", "link", "far", "names", "web")
	near.must("backend", "create", "names", "web", "127.0.0.1")
	near.must("backend", "create", "names", "web", "127.0.0.2")
	near.must("record", "create", "names", "example.com", "www", "DYNA", "web")
	answered := func(what, want string) {
		t.Helper()
		within(t, 20*time.Second, what, func() error {
			seen := map[string]bool{}
			for range 6 {
				seen[digs(t, dns, "www.example.com")] = true
			}
			if len(seen) != len(strings.Fields(want)) || !seen[strings.Fields(want)[0]] {
				return fmt.Errorf("answered %v", seen)
			}
			return nil
		})
	}
	answered("both have nothing to do", "127.0.0.1 127.0.0.2")
	end := connections(t, fmt.Sprintf("127.0.0.1:%d", port), 20)
	answered("the near one is busy", "127.0.0.2")
	if out := near.must("explain", "names", "www.example.com"); !strings.Contains(out, "20 open, weight 1") || !strings.Contains(out, "no other has less to do for its weight") {
		t.Errorf("explained:\n%s", out)
	}
	end()
	end = connections(t, fmt.Sprintf("127.0.0.2:%d", port), 20)
	answered("the far one is busy", "127.0.0.1")
	end()
	far.must("farm", "stop", "shop")
	within(t, 20*time.Second, "why it is down", func() error {
		if out := near.must("check", "explain", "names", "web", "2"); !strings.Contains(out, "farm shop of the other Sluice is down") || strings.Contains(out, key) {
			return fmt.Errorf("explained:\n%s", out)
		}
		return nil
	})
	answered("the far one is stopped", "127.0.0.1")
}

// keeping starts a server that keeps connections as long as clients do.
func keeping(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go housetest.Hold(l)
	return l.Addr().String()
}

// connections opens n connections until end.
func connections(t *testing.T, to string, n int) (end func()) {
	t.Helper()
	var all []net.Conn
	for range n {
		c, err := net.Dial("tcp", to)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return func() {
		for _, c := range all {
			c.Close()
		}
	}
}
