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

// secondary is a server that copies the primary's zone, with the secret of key ns2.
type secondary struct {
	program string
	// start returns its command line for its own directory.
	start func(t *testing.T, dir, zone, secret string) []string
}

var knot = secondary{"knotd", func(t *testing.T, dir, zone, secret string) []string {
	key, signed := "", ""
	if secret != "" {
		key, signed = "key:\n  - id: ns2\n    algorithm: hmac-sha256\n    secret: "+secret+"\n", "    key: ns2\n"
	}
	return []string{"-c", writeConf(t, dir, fmt.Sprintf(`server:
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
`, dir, secondaryAddress, primaryAddress, zone, key, signed))}
}}

var bind = secondary{"named", func(t *testing.T, dir, zone, secret string) []string {
	key, signed := "", ""
	if secret != "" {
		key, signed = fmt.Sprintf("key ns2 { algorithm hmac-sha256; secret %q; };\nserver %s { keys { ns2; }; };\n", secret, primaryAddress), " key ns2"
	}
	return []string{"-f", "-n", "1", "-c", writeConf(t, dir, fmt.Sprintf(`%[5]soptions {
  directory %[1]q; pid-file none; session-keyfile none; lock-file none; managed-keys-directory %[1]q;
  listen-on { %[2]s; }; listen-on-v6 { none; }; transfer-source %[2]s; query-source address %[2]s;
  recursion no; dnssec-validation no; notify no;
};
controls { };
zone %[4]q { type secondary; file "zone"; primaries { %[3]s%[6]s; }; allow-notify { %[3]s; }; };
`, dir, secondaryAddress, primaryAddress, zone, key, signed))}
}}

// writeConf writes a configuration into a directory.
func writeConf(t *testing.T, dir, text string) (path string) {
	t.Helper()
	path = filepath.Join(dir, "conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// runs starts the server, until the test ends.
func (s *secondary) runs(t *testing.T, zone, secret string) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(s.program, s.start(t, dir, zone, secret)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// dig returns a server's answer, one record per line.
func dig(server string, args ...string) string {
	out, err := exec.Command("dig", append([]string{"@" + server, "+short", "+tries=1", "+time=2"}, args...)...).CombinedOutput()
	if err != nil {
		return "failed: " + string(out)
	}
	return strings.TrimSpace(string(out))
}

// A secondary is notified of each change of a zone; otherwise it would check after an hour.
func TestZoneChangesReachSecondariesAtOnce(t *testing.T) {
	t.Run("knot", func(t *testing.T) { isCopied(t, knot, "") })
	t.Run("bind", func(t *testing.T) { isCopied(t, bind, "") })
}

// With a key both sign all their messages.
func TestZoneChangesReachSecondariesWithTSIG(t *testing.T) {
	t.Run("knot", func(t *testing.T) { isCopied(t, knot, "MDEyMzQ1Njc4OWFiY2RlZg==") })
	t.Run("bind", func(t *testing.T) { isCopied(t, bind, "MDEyMzQ1Njc4OWFiY2RlZg==") })
}

func isCopied(t *testing.T, by secondary, secret string) {
	t.Parallel()
	if !inNamespace(t) {
		return
	}
	needs(t, by.program, "dig")
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
	if out, err := exec.Command("ip", "address", "add", secondaryAddress+"/32", "dev", "lo").CombinedOutput(); err != nil { // bind listens on interface addresses only
		t.Fatalf("%v: %s", err, out)
	}
	by.runs(t, "example.com", secret)
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
