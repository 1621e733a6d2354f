package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	primaryAddress   = "127.0.0.53"
	secondaryAddress = "127.0.0.54"
)

// copies starts knot as a server that copies the zone of the primary, until the test ends.
func copies(t *testing.T, zone string) {
	t.Helper()
	dir := t.TempDir()
	conf := filepath.Join(dir, "knot.conf")
	text := fmt.Sprintf(`server:
  rundir: %[1]s
  listen: %[2]s@53
  udp-workers: 1
  tcp-workers: 1
  background-workers: 1
database:
  storage: %[1]s/db
remote:
  - id: primary
    address: %[3]s@53
    via: %[2]s
acl:
  - id: told
    address: %[3]s
    action: notify
zone:
  - domain: %[4]s
    storage: %[1]s
    master: primary
    acl: told
`, dir, secondaryAddress, primaryAddress, zone)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("knotd", "-c", conf)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// dig is what a server answers, one record a line.
func dig(server string, args ...string) string {
	out, err := exec.Command("dig", append([]string{"@" + server, "+short", "+tries=1", "+time=2"}, args...)...).CombinedOutput()
	if err != nil {
		return "failed: " + string(out)
	}
	return strings.TrimSpace(string(out))
}

// A zone of the farm is copied by another server, which is told of each change: without
// that it would ask after an hour.
func TestASecondaryHasAChangeOfAZoneAtOnce(t *testing.T) {
	t.Parallel()
	if !inNamespace(t) {
		return
	}
	needs(t, "knotd", "dig")
	a := start(t, identity{name: "root"}, dataDir(t, identity{}))
	a.must("farm", "create", "names", "--profile", "gslb", "--vip", primaryAddress, "--vport", "53", "transfer_from="+secondaryAddress, "notify="+secondaryAddress)
	a.must("zone", "create", "names", "example.com")
	a.must("record", "add", "names", "example.com", "www", "A", "192.0.2.1")
	copies(t, "example.com")
	answered := func(want string) {
		t.Helper()
		within(t, 20*time.Second, "the secondary has "+want, func() error {
			if got := dig(secondaryAddress, "www.example.com", "A"); got != want {
				return fmt.Errorf("it answers %q", got)
			}
			return nil
		})
	}
	answered("192.0.2.1")
	a.must("record", "add", "names", "example.com", "www", "A", "192.0.2.2")
	answered("192.0.2.1\n192.0.2.2")
	if ours, theirs := dig(primaryAddress, "example.com", "SOA"), dig(secondaryAddress, "example.com", "SOA"); ours != theirs {
		t.Errorf("the primary has %s, the secondary %s", ours, theirs)
	}
}
