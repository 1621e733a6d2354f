package e2e_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/porttest"
)

// freePorts returns n loopback ports reserved until the test ends.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		ports = append(ports, int(porttest.TCP(t).Port()))
	}
	return ports
}

func TestManyFarmsAreCreatedAndRestoredAtOnce(t *testing.T) {
	const farms, services = 300, 4
	who := asOne()
	var one, two [3]string
	for i := range one {
		one[i], two[i] = mirror(t, "one"), mirror(t, "two")
	}
	ports := freePorts(t, farms)
	document := func(backends [3]string) string {
		var b strings.Builder
		b.WriteString("farms:\n")
		for i, vport := range ports {
			fmt.Fprintf(&b, "- name: farm%d\n  profile: http\n  vip: 127.0.0.1\n  vport: %d\n  services:\n", i, vport)
			for s := range services {
				fmt.Fprintf(&b, "  - name: s%d\n    urlp: ^/s%d/\n    backends:\n", s, s)
				for _, backend := range backends {
					host, port, _ := net.SplitHostPort(backend)
					fmt.Fprintf(&b, "    - ip: %s\n      port: %s\n", host, port)
				}
			}
		}
		return b.String()
	}
	data := dataDir(t, who)
	a := start(t, who, data)
	apply := func(text string) time.Duration {
		t.Helper()
		file := filepath.Join(dataDir(t, who), "many.yaml")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		a.must("apply", "--yes", "-f", file)
		return time.Since(began)
	}
	all := func(want string) error {
		for i, port := range ports {
			c, err := dialWire(fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				return fmt.Errorf("farm %d: %w", i, err)
			}
			got, err := c.exchange(fmt.Sprintf("/s%d/", i%services), 2, false)
			c.close()
			if err != nil || got != want {
				return fmt.Errorf("farm %d is answered by %q, %v", i, got, err)
			}
		}
		return nil
	}
	took := apply(document(one))
	t.Logf("%d farms of %d services with 3 backends each were made in %v", farms, services, took.Round(time.Millisecond))
	if err := all("one"); err != nil {
		t.Fatal(err)
	}
	t.Logf("they were changed in %v", apply(document(two)).Round(time.Millisecond))
	if err := all("two"); err != nil {
		t.Fatal(err)
	}
	if out := a.must("history"); strings.Count(strings.TrimSpace(out), "\n") < 2 {
		t.Errorf("history:\n%s", out)
	}
	began := time.Now()
	a.must("rollback", "--yes")
	t.Logf("they were rolled back in %v", time.Since(began).Round(time.Millisecond))
	if err := all("one"); err != nil {
		t.Fatal(err)
	}

	a.kill("engine")
	within(t, 20*time.Second, "all farms answer after the engine died", func() error { return all("one") })
	a.kill("mgmt")
	within(t, 20*time.Second, "the API answers after mgmt died", a.answers)
	began = time.Now()
	a.must("farm", "set", "farm7", "error503=x")
	t.Logf("one farm of all was edited in %v", time.Since(began).Round(time.Millisecond))
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	a = start(t, who, data)
	if err := all("one"); err != nil {
		t.Error(err)
	}
	t.Logf("a new start served all after %v", time.Since(began).Round(time.Millisecond))

	empty := apply("farms: []\n")
	t.Logf("they were deleted in %v", empty.Round(time.Millisecond))
	if err := all("one"); err == nil {
		t.Error("deleted farms answer")
	}
}
