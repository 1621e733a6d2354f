package e2e_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// changed is an appliance with a configuration file and the objects for changes: a farm
// "shop" with the backends steady and second.
type changed struct {
	*appliance
	key, file      string
	addr           string // of the farm shop
	port, spare    int    // of the farms shop and other
	steady, second string // backends
	third, fourth  string
}

func newChanged(t *testing.T, who identity) *changed {
	t.Helper()
	c := &changed{port: freePort(t), spare: freePort(t),
		steady: mirror(t, "steady"), second: mirror(t, "second"), third: mirror(t, "third"), fourth: mirror(t, "fourth")}
	c.addr = fmt.Sprintf("127.0.0.1:%d", c.port)
	c.file = filepath.Join(dataDir(t, who), "sluice.yaml")
	c.write(t, who, "")
	// With an early garbage collector, retained memory shows at once.
	c.appliance = startIn(t, who, dataDir(t, who), surroundings{env: []string{"GOGC=20"}}, "--config", c.file)
	c.key = c.appliance.key()
	return c
}

// write writes the configuration file; extra are lines for the service.
func (c *changed) write(t *testing.T, who identity, extra string) {
	t.Helper()
	entry := func(addr string) string {
		host, port, _ := net.SplitHostPort(addr)
		return fmt.Sprintf("    - ip: %s\n      port: %s\n", host, port)
	}
	text := fmt.Sprintf("farms:\n- name: shop\n  profile: http\n  vip: 127.0.0.1\n  vport: %d\n  services:\n  - name: all\n%s    backends:\n%s%s",
		c.port, extra, entry(c.steady), entry(c.second))
	if err := os.WriteFile(c.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if who.credential != nil {
		if err := os.Chown(c.file, int(who.credential.Uid), -1); err != nil {
			t.Fatal(err)
		}
	}
}

// round makes ten changes of all kinds and ends with the file's configuration. pause is
// called between them.
func (c *changed) round(t *testing.T, who identity, number int, pause func()) (changes int) {
	t.Helper()
	const service = "/farms/shop/services/all"
	do := func(method, path string, body any) {
		t.Helper()
		switch code, text := c.rest(c.key, method, path, body); code {
		case http.StatusOK, http.StatusCreated:
			changes++
		default:
			t.Fatalf("%s %s: %d %s", method, path, code, text)
		}
		pause()
	}
	backend := func(addr string) map[string]any {
		host, port, _ := net.SplitHostPort(addr)
		return map[string]any{"ip": host, "port": port}
	}
	do(post, service+"/backends", backend(c.third))
	ids := c.backends(t)
	do(put, service+fmt.Sprintf("/backends/%d", ids[0]), map[string]any{"weight": 1 + number%9, "connection_limit": 1000 + number})
	do(put, "/farms/shop", map[string]any{"error503": fmt.Sprintf("text %d", number), "restimeout": 40 + number%5})
	do(put, service+fmt.Sprintf("/backends/%d/maintenance", ids[1]), map[string]any{"action": "maintenance", "mode": "drain"})
	do(put, service, map[string]any{"routingpolicy": []string{"LEAST_CONNECTIONS", "ROUND_ROBIN", "RANDOM_OF_TWO"}[number%3]})
	do(del, service+fmt.Sprintf("/backends/%d", ids[1]), nil)
	switch number % 2 {
	case 0:
		do(post, "/farms", map[string]any{"farmname": "other", "profile": "http", "vip": "127.0.0.1", "vport": c.spare})
	default:
		do(put, service+fmt.Sprintf("/backends/%d", ids[2]), backend(c.fourth))
	}
	do(put, service, map[string]any{"persistence": "IP", "ttl": 60})
	c.write(t, who, fmt.Sprintf("    urlp: ^/c%s\n", strings.Repeat("?", number%2)))
	do(post, "/config/reload", nil) // reverts the changes above
	c.write(t, who, "")
	do(post, "/config/reload", nil)
	return changes
}

const (
	post = http.MethodPost
	put  = http.MethodPut
	del  = http.MethodDelete
)

// backends returns the ids of the farm's backends, in order. No id is reused.
func (c *changed) backends(t *testing.T) (ids []int) {
	t.Helper()
	code, text := c.rest(c.key, http.MethodGet, "/farms/shop/services/all/backends", nil)
	var list struct{ Params []struct{ ID int } }
	if err := json.Unmarshal([]byte(text), &list); err != nil || code != http.StatusOK {
		t.Fatalf("%d %s: %v", code, text, err)
	}
	for _, b := range list.Params {
		ids = append(ids, b.ID)
	}
	return ids
}

// footprints returns the footprints of all roles while the appliance is idle, without
// backends for which connections could be kept.
func (c *changed) footprints(t *testing.T, who identity) map[string]footprint {
	t.Helper()
	for _, b := range c.backends(t) {
		if code, text := c.rest(c.key, del, fmt.Sprintf("/farms/shop/services/all/backends/%d", b), nil); code != http.StatusOK {
			t.Fatalf("%d %s", code, text)
		}
	}
	all := map[string]footprint{}
	for _, role := range []string{"engine", "mgmt", "netd", "progd"} {
		pid := c.pid(role)
		least := footprintOf(t, pid)
		for range 200 { // closing connections end soon, and netd checks firewalls periodically
			now := footprintOf(t, pid)
			least.descriptors = min(least.descriptors, now.descriptors)
			least.anonymous = min(least.anonymous, now.anonymous) // depends on the garbage collector
			least.threads = now.threads
			time.Sleep(10 * time.Millisecond)
		}
		all[role] = least
	}
	c.write(t, who, "")
	if code, text := c.rest(c.key, post, "/config/reload", nil); code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	return all
}

// With SLUICE_E2E_LONG=1 there are 200 changes, else 60; `make soak` continues longer.
func TestChangesUnderLoadLoseNoRequestAndLeakNothing(t *testing.T) {
	who := asOne()
	c := newChanged(t, who)
	warm := under(t, c.addr, 16, 8, 0)
	for i := range 8 { // until the heap has its final size
		c.round(t, who, i, func() {})
	}
	warm.flawless(t)
	was := c.footprints(t, who)

	var grown []string
	for range looksAtGrowth {
		c.changesUnderLoad(t, who)
		is := c.footprints(t, who)
		if grown = c.growth(t, was, is); len(grown) == 0 || t.Failed() {
			return
		}
		was = is
	}
	t.Errorf("these grew with every %d changes: %s", choose(200, 60), strings.Join(grown, "; "))
}

// looksAtGrowth is how often in a row a value must grow to count as a leak. The heap may grow
// once on its own.
const looksAtGrowth = 3

// changesUnderLoad makes the changes under client load, without failures.
func (c *changed) changesUnderLoad(t *testing.T, who identity) {
	t.Helper()
	count, longer := choose(200, 60), soak(t)
	pause := choose(250*time.Millisecond, 30*time.Millisecond)
	began := time.Now()
	tr := under(t, c.addr, 16, 8, 0)
	done := 0
	for i := 0; (done < count || time.Since(began) < longer) && tr.failed() == nil; i++ {
		done += c.round(t, who, i, func() { time.Sleep(pause) })
	}
	t.Logf("%d changes in %v", done, time.Since(began).Round(100*time.Millisecond))
	tr.flawless(t)
	for _, name := range []string{"steady", "second", "third", "fourth"} {
		if _, served := tr.backends.Load(name); !served {
			t.Errorf("the backend %s was never used", name)
		}
	}
}

// growth returns the roles whose footprint has grown.
func (c *changed) growth(t *testing.T, before, after map[string]footprint) (grown []string) {
	t.Helper()
	for role, was := range before {
		is := after[role]
		t.Logf("%s: %v before, %v after", role, was, is)
		if is.descriptors > was.descriptors {
			grown = append(grown, fmt.Sprintf("%s has %d descriptors more: %v", role, is.descriptors-was.descriptors, openFiles(c.pid(role))))
		}
		if is.threads > was.threads+2 {
			grown = append(grown, fmt.Sprintf("%s has %d threads more", role, is.threads-was.threads))
		}
		if more := is.anonymous - was.anonymous; more > growthSlack && !raceBuild {
			grown = append(grown, fmt.Sprintf("%s grew by %d KiB", role, more>>10))
		}
	}
	return grown
}

// growthSlack is the allowance for reused buffers and the heap; after 700 changes it was 1.3
// MiB above that after 200.
const growthSlack = 2 << 20
