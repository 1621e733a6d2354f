package e2e_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A zone is signed by one setting. With the DS record shown, a resolver validates it, also
// after all roles were killed and the configuration was restored from a document.
func TestZoneSigningSurvivesChanges(t *testing.T) {
	t.Parallel()
	if !inNamespace(t) {
		return
	}
	needs(t, "delv")
	a := start(t, identity{name: "root"}, dataDir(t, identity{}))
	a.must("farm", "create", "names", "--profile", "gslb", "--vip", primaryAddress, "--vport", "53")
	a.must("zone", "create", "names", "example.com", "dnssec=ecdsap256sha256")
	a.must("record", "create", "names", "example.com", "www", "A", "192.0.2.1")
	listed := strings.Fields(strings.Split(a.must("zone", "key", "list", "names", "example.com"), "\n")[1])
	ds := listed[len(listed)-4:] // tag, algorithm, type of digest, digest
	anchors := file(t, fmt.Sprintf("trust-anchors { example.com. static-ds %s %s %s %q; };\n", ds[0], ds[1], ds[2], ds[3]))
	believed := func(after string) {
		t.Helper()
		within(t, 20*time.Second, "delv believes the zone "+after, func() error {
			for name, want := range map[string]string{"www.example.com": "; fully validated", "nothing.example.com": "; negative response, fully validated"} {
				out, err := exec.Command("delv", "@"+primaryAddress, "-a", anchors, "+root=example.com", name, "A").CombinedOutput()
				if !strings.Contains(string(out), want) {
					return fmt.Errorf("%s: %w\n%s", name, err, out)
				}
			}
			return nil
		})
	}
	believed("at first")

	text := a.must("export")
	if !strings.Contains(text, "private_key: sealed-") {
		t.Errorf("the document does not have the private key sealed:\n%s", text)
	}
	a.must("apply", "-f", file(t, text))
	a.must("record", "create", "names", "example.com", "www2", "A", "192.0.2.2")
	believed("after its own document was applied")
	a.kill("engine")
	believed("after the engine died")
	a.kill("mgmt")
	believed("after mgmt died")

	a.must("zone", "key", "add", "names", "example.com")
	believed("with a second key")
	keys := strings.Split(strings.TrimSpace(a.must("zone", "key", "list", "names", "example.com")), "\n")
	if len(keys) != 3 || !strings.Contains(keys[2], "published") {
		t.Fatalf("keys:\n%s", strings.Join(keys, "\n"))
	}
	next := strings.Fields(keys[2])[0]
	if out, code := a.run("zone", "key", "use", "names", "example.com", next); code == 0 || !strings.Contains(out, "have it sign after that") {
		t.Errorf("a key that resolvers do not know yet signs: %s", out)
	}
	if out, code := a.run("zone", "set", "names", "example.com", "dnssec=ed25519"); code == 0 || !strings.Contains(out, "resolvers trust the key") {
		t.Errorf("the algorithm changes under the eyes of resolvers: %s", out)
	}
	a.must("zone", "key", "delete", "names", "example.com", next)
	believed("after a key was deleted")
	a.must("farm", "copy", "names", "names2", "vip="+secondaryAddress)
	if out := a.must("zone", "key", "list", "names2", "example.com"); !strings.Contains(out, ds[3]) {
		t.Errorf("a copy of the farm has other keys:\n%s", out)
	}
}
