package e2e_test

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// l4Farm is a farm in a line of YAML, and its client address.
type l4Farm struct {
	name, network, to string
	kernel            bool
	yaml              string
}

// everyMode returns one farm of each data path and NAT type, all with two backends.
func everyMode(s *housetest.Site) (farms []l4Farm, yaml string) {
	vip4, vip6 := s.VIP(200)
	add := func(name, network, vip string, kernel bool, port int, more string) {
		machines, at := s.Backends, func(m *housetest.Machine) string { return m.V4 }
		if strings.Contains(more, "dsr") {
			machines = s.Direct
		}
		if vip == vip6 {
			at = func(m *housetest.Machine) string { return m.V6 }
		}
		var backends []string
		for _, m := range machines {
			backends = append(backends, fmt.Sprintf("{ip: %q}", at(m)))
		}
		line := fmt.Sprintf("- {name: %s, profile: l4xnat, vip: %q, vport: %d, protocol: %s, %s, backends: [%s]}\n", name, vip, port, network, more, strings.Join(backends, ", "))
		farms = append(farms, l4Farm{name, network, netip.AddrPortFrom(netip.MustParseAddr(vip), uint16(port)).String(), kernel, line})
		yaml += line
	}
	add("nat", "tcp", vip4, true, 80, "nattype: nat, datapath: kernel, algorithm: roundrobin")
	add("nat-sessions", "tcp", vip6, true, 81, "nattype: nat, datapath: kernel, algorithm: roundrobin, persistence: srcip")
	add("nat-udp", "udp", vip4, true, 80, "nattype: nat, datapath: kernel, algorithm: roundrobin")
	add("dnat", "tcp", vip4, true, 8001, "nattype: dnat, algorithm: roundrobin")
	add("dsr", "tcp", vip4, true, 8002, "nattype: dsr, algorithm: roundrobin")
	add("dsr-udp", "udp", vip6, true, 8002, "nattype: dsr, algorithm: roundrobin")
	add("stateless", "tcp", vip6, true, 8003, "nattype: stateless_dnat, algorithm: roundrobin")
	add("relay", "tcp", vip4, false, 8080, "nattype: nat, datapath: userspace, algorithm: roundrobin")
	add("relay-udp", "udp", vip4, false, 8080, "nattype: nat, datapath: userspace, algorithm: roundrobin")
	return farms, "farms:\n" + yaml
}

// everyPort lists the ports of the farms of everyMode.
var everyPort = []int{80, 81, 8001, 8002, 8003, 8080}

// modes is a running appliance with a farm of each mode.
type modes struct {
	*housetest.Site
	t     *testing.T
	a     *appliance
	farms []l4Farm
}

func newModes(t *testing.T) *modes {
	t.Helper()
	m := &modes{Site: housetest.Plan{Backends: 2, Direct: 2, Sources: 4}.Build(housetest.New(t)), t: t}
	for _, machine := range append(m.Backends, m.Direct...) {
		machine.Server(machine.Name, everyPort...)
	}
	var yaml string
	m.farms, yaml = everyMode(m.Site)
	m.a, _ = installed(t, m.Site, "--config", file(t, yaml))
	for _, f := range m.farms {
		within(t, 5*time.Second, f.name+" carries", func() error { return m.once(f, time.Second) })
	}
	return m
}

// once sends a request to a farm on a new connection.
func (m *modes) once(f l4Farm, limit time.Duration) error {
	a, err := m.Client.AskWithin(limit, f.network, netip.AddrPort{}, f.to)
	if err != nil {
		return err
	}
	defer a.Close()
	return a.Again("more")
}

// load is the traffic of a farm: one permanent connection and sequential short ones.
type load struct {
	farm     l4Farm
	streamed atomic.Int64
	opened   atomic.Int64
	mu       sync.Mutex
	problems []string
}

func (l *load) report(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems = append(l.problems, fmt.Sprintf("%s: at %s: %v", l.farm.name, time.Now().UTC().Format("15:04:05.000"), err))
}

// under loads the farms until the returned function is called, which returns the results of
// each.
func (m *modes) under(farms ...l4Farm) (stop func() []*load) {
	var loads []*load
	var wg sync.WaitGroup
	over := make(chan struct{})
	for _, f := range farms {
		l := &load{farm: f}
		loads = append(loads, l)
		stream, err := m.Client.Ask(f.network, netip.AddrPort{}, f.to)
		if err != nil {
			m.t.Fatal(err)
		}
		wg.Go(func() {
			defer stream.Close()
			server := stream.Server
			for tick := time.NewTicker(2 * time.Millisecond); ; l.streamed.Add(1) {
				select {
				case <-over:
					return
				case <-tick.C:
				}
				if err := stream.Again("a piece of the stream"); err != nil {
					l.report(fmt.Errorf("stream: %w", err))
					return
				}
				if stream.Server != server {
					l.report(fmt.Errorf("stream: moved from %s to %s", server, stream.Server))
					return
				}
			}
		})
		wg.Go(func() {
			for tick := time.NewTicker(5 * time.Millisecond); ; l.opened.Add(1) {
				select {
				case <-over:
					return
				case <-tick.C:
				}
				if err := m.once(f, 5*time.Second); err != nil {
					l.report(fmt.Errorf("new connection: %w", err))
				}
			}
		})
	}
	return func() []*load {
		close(over)
		wg.Wait()
		return loads
	}
}

// flawless fails for every problem, and for farms without traffic.
func flawless(t *testing.T, loads []*load) {
	t.Helper()
	for _, l := range loads {
		for _, c := range l.problems[:min(len(l.problems), 3)] {
			t.Error(c)
		}
		if l.streamed.Load() < 20 || l.opened.Load() < 10 {
			t.Errorf("%s: only %d pieces and %d connections", l.farm.name, l.streamed.Load(), l.opened.Load())
		}
		t.Logf("%s: %d pieces, %d connections, %d problems", l.farm.name, l.streamed.Load(), l.opened.Load(), len(l.problems))
	}
}

// kernelFarms returns the farms carried by the kernel, or the others.
func (m *modes) kernelFarms(kernel bool) (out []l4Farm) {
	for _, f := range m.farms {
		if f.kernel == kernel {
			out = append(out, f)
		}
	}
	return out
}

var chainNumber = regexp.MustCompile(`chain .* # handle \d+`)

// tables returns the kernel's chains with their numbers, which change when they are
// recreated.
func (m *modes) tables() string {
	m.t.Helper()
	return strings.Join(chainNumber.FindAllString(m.Appliance.Run("nft", "-a", "-t", "list", "ruleset"), -1), ", ")
}

func TestKernelFarmsSurviveTheCrashOfAnyRole(t *testing.T) {
	m := newModes(t)
	stop := m.under(m.kernelFarms(true)...)
	tables := m.tables()
	for _, role := range []string{"engine", "mgmt", "netd", "netd", "engine", "mgmt"} {
		old := m.a.kill(role)
		within(t, 5*time.Second, role+" is back", func() error {
			if m.a.pid(role) == old {
				return fmt.Errorf("still the old process")
			}
			return m.a.answers()
		})
		if role == "engine" {
			for _, f := range m.kernelFarms(false) {
				within(t, time.Second, f.name+" answers again", func() error { return m.once(f, 100*time.Millisecond) })
			}
		}
	}
	time.Sleep(300 * time.Millisecond) // of load after the new netd's changes
	flawless(t, stop())
	if now := m.tables(); now != tables {
		t.Errorf("a new netd rebuilt existing rules:\n%s\n%s", tables, now)
	}
}

func TestUserspaceFarmsSurviveCrashesOfMgmtAndNetd(t *testing.T) {
	m := newModes(t)
	stop := m.under(m.kernelFarms(false)...)
	for _, role := range []string{"mgmt", "netd", "mgmt", "netd"} {
		old := m.a.kill(role)
		within(t, 5*time.Second, role+" is back", func() error {
			if m.a.pid(role) == old {
				return fmt.Errorf("still the old process")
			}
			return m.a.answers()
		})
	}
	flawless(t, stop())
}

func TestKernelFarmsRunWithoutAnyProcess(t *testing.T) {
	m := newModes(t)
	stop := m.under(m.kernelFarms(true)...)
	if err := m.a.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-m.a.done
	m.a.done <- nil
	within(t, 5*time.Second, "the roles are gone with their supervisor", func() error {
		if err := m.once(m.kernelFarms(false)[0], time.Second); err != nil {
			return nil
		}
		return fmt.Errorf("the engine answers")
	})
	before := m.tables()
	startIn(t, m.a.who, m.a.data, m.a.in)
	for _, f := range m.kernelFarms(false) {
		within(t, time.Second, f.name+" answers again", func() error { return m.once(f, 100*time.Millisecond) })
	}
	flawless(t, stop())
	if now := m.tables(); now != before {
		t.Errorf("existing rules were rebuilt:\n%s\n%s", before, now)
	}
}
