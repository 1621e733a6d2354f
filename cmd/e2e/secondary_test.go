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

// copies starts knot as a server that copies the zone of the primary, until the test ends;
// with a secret by the key ns2.
func copies(t *testing.T, zone, secret string) {
	t.Helper()
	dir := t.TempDir()
	key, signed := "", ""
	if secret != "" {
		key, signed = "key:\n  - id: ns2\n    algorithm: hmac-sha256\n    secret: "+secret+"\n", "    key: ns2\n"
	}
	conf := filepath.Join(dir, "knot.conf")
	text := fmt.Sprintf(`server:
  rundir: %[1]s
  listen: %[2]s@53
  udp-workers: 1
  tcp-workers: 1
  background-workers: 1
database:
  storage: %[1]s/db
%[5]sremote:
  - id: primary
    address: %[3]s@53
    via: %[2]s
%[6]sacl:
  - id: told
    address: %[3]s
    action: notify
%[6]szone:
  - domain: %[4]s
    storage: %[1]s
    master: primary
    acl: told
`, dir, secondaryAddress, primaryAddress, zone, key, signed)
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
func TestASecondaryHasAChangeOfAZoneAtOnce(t *testing.T) { isCopied(t, "") }

// With a key both sign all they say to each other.
func TestASecondaryWithAKeyHasAChangeOfAZoneAtOnce(t *testing.T) {
	isCopied(t, "MDEyMzQ1Njc4OWFiY2RlZg==")
}

func isCopied(t *testing.T, secret string) {
	t.Parallel()
	if !inNamespace(t) {
		return
	}
	needs(t, "knotd", "dig")
	a := start(t, identity{name: "root"}, dataDir(t, identity{}))
	a.must("farm", "create", "names", "--profile", "gslb", "--vip", primaryAddress, "--vport", "53", "transfer_from="+secondaryAddress, "notify="+secondaryAddress)
	a.must("zone", "create", "names", "example.com")
	a.must("record", "add", "names", "example.com", "www", "A", "192.0.2.1")
	if secret != "" {
		a.must("farm", "set", "names", "transfer_keys=ns2:"+secret)
		if out := a.must("farm", "show", "names"); strings.Contains(out, secret) {
			t.Errorf("the secret is shown:\n%s", out)
		}
	}
	copies(t, "example.com", secret)
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
