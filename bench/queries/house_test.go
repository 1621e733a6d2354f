package queries

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/bench/measure"
	"github.com/sluicelb/sluice/bench/proxytest"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

// Addresses of the servers, on port 53.
const (
	sluiceAt = "127.0.0.11"
	knotAt   = "127.0.0.12"
	gdnsdAt  = "127.0.0.13"
)

// CPUs of the servers and of the client.
const (
	server = "0"
	client = "1"
)

const names = 1000

// house is a machine with the servers.
type house struct {
	t *testing.T
	*housetest.Namespace
	dir string
}

func open(t *testing.T) *house {
	t.Helper()
	for _, program := range []string{"dnsperf", "knotd", "gdnsd", "taskset", "sluice"} {
		proxytest.Find(t, program)
	}
	return &house{t: t, Namespace: housetest.New(t).Namespace("machine"), dir: t.TempDir()}
}

// file writes a file and returns its path.
func (h *house) file(name, text string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// each returns one line for every name.
func each(line string) string {
	var b strings.Builder
	for i := range names {
		fmt.Fprintf(&b, line+"\n", i)
	}
	return b.String()
}

// questions writes a query file with every name of a zone.
func (h *house) questions(zone string) string {
	return h.file("questions-"+zone, each("h%d."+zone+".example A"))
}

func zoneFile(zone string) string {
	return "$TTL 3600\n@ SOA ns1." + zone + ".example. hostmaster." + zone + ".example. 1 3600 600 604800 300\n@ NS ns1\nns1 A 192.0.2.1\n" + each("h%[1]d A 192.0.2.10")
}

// tree returns the processes of a server, once it responds.
func (h *house) tree(pid int, at, zone string) []measure.Process {
	h.t.Helper()
	proxytest.Eventually(h.t, func() error {
		out, err := h.Try("", "dig", "@"+at, "+short", "+tries=1", "+time=1", "h1."+zone+".example", "A")
		if err == nil && strings.TrimSpace(out) == "" {
			err = fmt.Errorf("%s has no address for a name of %s", at, zone)
		}
		return err
	})
	all, err := measure.Tree(pid)
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

// sluice starts the appliance with a farm. Backends of its service are the other servers.
func (h *house) sluice() []measure.Process {
	h.t.Helper()
	zone := func(name, more, record string) string {
		return "  - name: " + name + ".example\n" + more + "    resources:\n    - {rname: '@', type: NS, rdata: ns1}\n    - {rname: ns1, type: A, rdata: 192.0.2.1}\n" + each("    - {rname: h%d, "+record+"}")
	}
	p := proxytest.Sluice(h.t, h.Namespace, "farms:\n- name: names\n  profile: gslb\n  vip: "+sluiceAt+"\n  vport: 53\n"+
		"  services:\n  - {name: pool, algorithm: weight, deftcpport: 53, backends: [{ip: "+knotAt+", weight: 1}, {ip: "+gdnsdAt+", weight: 2}]}\n  zones:\n"+
		zone("static", "", "type: A, rdata: 192.0.2.10")+zone("signed", "    dnssec: ecdsap256sha256\n", "type: A, rdata: 192.0.2.10")+zone("chosen", "", "type: DYNA, rdata: pool"),
		"SLUICE_LOOPS=1", "SLUICE_LOG=warn")
	all := h.tree(p.Process.Pid, sluiceAt, "static")
	for _, one := range all {
		h.Run("taskset", "-a", "-c", "-p", server, fmt.Sprint(one.PID))
	}
	return all
}

func (h *house) knot() []measure.Process {
	h.t.Helper()
	for _, zone := range []string{"static", "signed"} {
		h.file("knot/"+zone, zoneFile(zone))
	}
	p := h.Serve("taskset", "-c", server, proxytest.Find(h.t, "knotd"), "-c", h.file("knot.conf", fmt.Sprintf(`server:
  rundir: %[1]s/knot
  listen: %[2]s@53
  udp-workers: 1
  tcp-workers: 1
  background-workers: 1
database:
  storage: %[1]s/knot/db
policy:
  - id: online
    algorithm: ecdsap256sha256
mod-onlinesign:
  - id: online
    policy: online
template:
  - id: default
    storage: %[1]s/knot
zone:
  - domain: static.example
    file: static
  - domain: signed.example
    file: signed
    module: mod-onlinesign/online
`, h.dir, knotAt)))
	return h.tree(p.Process.Pid, knotAt, "signed")
}

func (h *house) gdnsd() []measure.Process {
	h.t.Helper()
	h.file("gdnsd/zones/static.example", strings.ReplaceAll(zoneFile("static"), "$TTL 3600\n", ""))
	h.file("gdnsd/config", fmt.Sprintf("options => { listen => %s, udp_threads => 1, tcp_threads => 1, run_dir => %[2]s/run, state_dir => %[2]s/state }\n", gdnsdAt, h.dir))
	p := h.Serve("taskset", "-c", server, proxytest.Find(h.t, "gdnsd"), "-c", filepath.Join(h.dir, "gdnsd"), "start")
	return h.tree(p.Process.Pid, gdnsdAt, "static")
}
