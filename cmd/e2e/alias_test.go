package e2e_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// A zone has the addresses of another name while connections to these succeed.
func TestZoneApexAliasFollowsItsTarget(t *testing.T) {
	t.Parallel()
	needs(t, "dig")
	who := asOne()
	a := start(t, who, dataDir(t, who))
	port := freePorts(t, 1)[0]
	ln, err := net.Listen("tcp", "127.0.0.1:0") // target of the check
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	a.must("farm", "create", "names", "--profile", "gslb", "vip=127.0.0.1", fmt.Sprintf("vport=%d", port))
	a.must("zone", "create", "names", "example.com")
	for wrong, says := range map[string]string{"192.0.2.1": "an address is a record of type A", "no where": "rdata must be a host name with type ALIAS"} {
		if out, code := a.run("record", "create", "names", "example.com", "@", "ALIAS", wrong); code == 0 || !strings.Contains(out, says) {
			t.Errorf("%s: %d, %s", wrong, code, out)
		}
	}
	if out := a.must("record", "create", "names", "example.com", "@", "ALIAS", "localhost."); !strings.Contains(out, "The service alias-localhost answers it") {
		t.Errorf("%s", out)
	}
	a.must("service", "set", "names", "alias-localhost", fmt.Sprintf("deftcpport=%d", ln.Addr().(*net.TCPAddr).Port), "all_down=none", "ttl=5")
	answered := func(what, want string) {
		t.Helper()
		within(t, 30*time.Second, what, func() error {
			if got := digs(t, port, "example.com", "A"); got != want {
				return errors.New(got)
			}
			return nil
		})
	}
	answered("the zone has the address of the name", "127.0.0.1")
	if out := a.must("backend", "list", "names", "alias-localhost"); !strings.Contains(out, "127.0.0.1 (localhost)") {
		t.Errorf("%s", out)
	}
	if out := a.must("zone", "export", "names", "example.com"); !strings.Contains(out, "@\tIN\tALIAS\tlocalhost.\n") {
		t.Errorf("%s", out)
	}
	if out := a.must("explain", "names", "example.com"); !strings.Contains(out, "it works") {
		t.Errorf("%s", out)
	}
	a.kill("engine")
	answered("after the death of the engine", "127.0.0.1")
	_ = ln.Close()
	answered("nobody is there any more", "")
	if out, code := a.run("service", "delete", "names", "alias-localhost"); code == 0 || !strings.Contains(out, "example.com") {
		t.Errorf("a service in use is deleted: %d, %s", code, out)
	}
}
