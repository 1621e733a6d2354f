package e2e_test

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

// cell is one combination the contract allows (api-reference §4.2), carried by
// a farm of its own with an address of its own.
type cell struct {
	number   int
	nat      farm.NATType
	kind     string // tcp, udp, tcp_udp, all, ports
	six      bool
	alg      farm.L4Algorithm
	persist  farm.L4Persistence
	datapath farm.DataPath
	vip      netip.Addr
	first    uint16 // port of its clients: no two cells share one, they have the same backends
}

func (c *cell) String() string {
	family, persist := "v4", string(c.persist)
	if c.six {
		family = "v6"
	}
	if persist == "" {
		persist = "none"
	}
	return strings.Join([]string{string(c.nat), c.kind, family, string(c.alg), persist, string(c.datapath)}, "/")
}

// cells are all combinations that are allowed.
func cells() (all []*cell) {
	next := map[bool]uint16{false: 2000, true: 2000}
	persistences := append([]farm.L4Persistence{farm.L4PersistNone}, farm.L4Persistences()...)
	for _, nat := range farm.NATTypes() {
		for _, kind := range []string{"tcp", "udp", "tcp_udp", "all", "ports"} {
			for _, alg := range farm.L4Algorithms() {
				for _, persist := range persistences {
					for _, path := range []farm.DataPath{farm.DataPathUserspace, farm.DataPathKernel} {
						packets := nat == farm.NATDirect || nat == farm.NATStateless
						if packets && (alg == farm.L4LeastConn || path == farm.DataPathUserspace) {
							continue // nobody counts connections, and there are no sockets
						}
						if path == farm.DataPathUserspace && !userspace(nat, kind, persist) {
							continue
						}
						for _, six := range []bool{false, true} {
							n := len(all)
							c := &cell{n, nat, kind, six, alg, persist, path, netip.AddrFrom4([4]byte{10, 20, byte(n >> 8), byte(n)}), next[six]}
							if six {
								c.vip = netip.MustParseAddr(fmt.Sprintf("fd00:20::%x", n+1))
							}
							next[six] += uint16(len(c.plan()))
							all = append(all, c)
						}
					}
				}
			}
		}
	}
	return all
}

// userspace reports whether the engine carries such farms.
func userspace(nat farm.NATType, kind string, persist farm.L4Persistence) bool {
	l := farm.L4{NAT: nat, Protocol: farm.L4Protocol(kind), Ports: []farm.PortRange{{First: 80, Last: 80}}, Persist: persist}
	if kind == "ports" {
		l.Protocol = farm.L4TCP
	}
	return l.NotUserspace() == ""
}

// farm is the cell's as a line of YAML.
func (c *cell) farm(s *housetest.Site) string {
	vport, protocol, port := "80", c.kind, ", port: 8080"
	switch c.kind {
	case "all":
		vport, port = "*", ""
	case "ports":
		vport, protocol, port = "80,8001:8003", "tcp", ""
	}
	machines := s.Backends
	if c.nat == farm.NATDirect {
		machines = s.Direct
	}
	var backends []string
	for i, m := range machines {
		address := m.V4
		if c.six {
			address = m.V6
		}
		priority := ""
		if c.alg == farm.L4Priority {
			priority = fmt.Sprintf(", priority: %d", i+1)
		}
		backends = append(backends, fmt.Sprintf("{ip: %q%s%s}", address, port, priority))
	}
	return fmt.Sprintf("- {name: m%d, profile: l4xnat, vip: %q, vport: %q, protocol: %s, nattype: %s, algorithm: %s, persistence: %q, datapath: %s, backends: [%s]}\n",
		c.number, c.vip, vport, protocol, c.nat, c.alg, c.persist, c.datapath, strings.Join(backends, ", "))
}

// ports clients ask the cell's farm at.
func (c *cell) ports() []uint16 {
	switch c.kind {
	case "all":
		return []uint16{80, 8003}
	case "ports":
		return []uint16{80, 8002}
	}
	return []uint16{80}
}

func (c *cell) networks() []string {
	switch c.kind {
	case "udp":
		return []string{"udp"}
	case "tcp_udp", "all":
		return []string{"tcp", "udp"}
	}
	return []string{"tcp"}
}

// asked is one connection of a cell.
type asked struct {
	client  int // machine
	from    netip.AddrPort
	port    uint16
	network string
	server  string
}

// key is what the persistence of the cell recognises; ok is false when it knows
// nobody.
func (c *cell) key(a asked) (key string, ok bool) {
	switch c.persist {
	case farm.L4PersistSrc:
		return a.from.Addr().String(), true
	case farm.L4PersistSrcPt:
		return fmt.Sprint(a.from.Port()), true
	case farm.L4PersistMAC:
		return fmt.Sprint(a.client), true
	case farm.L4PersistDst:
		return "", true
	case farm.L4PersistDstPt:
		return fmt.Sprint(a.port), true
	case farm.L4PersistSrcSrc:
		return a.from.String(), true
	case farm.L4PersistSrcDest:
		return fmt.Sprint(a.from.Addr(), a.port), true
	}
	return "", false
}

// hashed is what the algorithm of the cell goes by, if it goes by something.
func (c *cell) hashed(a asked) (key string, ok bool) {
	switch c.alg {
	case farm.L4HashSrc:
		return a.from.Addr().String(), true
	case farm.L4HashSrcPt:
		return fmt.Sprint(a.from.Port()), true
	case farm.L4HashFlow:
		return a.from.String(), true
	case farm.L4HashDst, farm.L4Priority:
		return "", true
	case farm.L4HashDstPt:
		return fmt.Sprint(a.port), true
	case farm.L4SymHash:
		return fmt.Sprint(a.from, a.port, a.network), true
	}
	return "", false
}

// plan is whom the cell is asked by. Without persistence every connection is
// another flow, with it clients return from other ports, by other ports.
func (c *cell) plan() (out []asked) {
	address := func(i int) netip.Addr {
		if c.six {
			return netip.MustParseAddr(fmt.Sprintf("fd00:1::%d", 100+i))
		}
		return netip.AddrFrom4([4]byte{10, 10, 1, byte(100 + i)})
	}
	ports := c.ports()
	for _, network := range c.networks() {
		if c.persist == farm.L4PersistNone {
			n := 24
			if c.alg == farm.L4RoundRobin || c.alg == farm.L4Priority || c.alg == farm.L4HashDst {
				n = 8
			}
			for i := range n {
				out = append(out, asked{from: netip.AddrPortFrom(address(i%8), c.first+uint16(i)), port: ports[i%len(ports)], network: network})
			}
			continue
		}
		for i := range 12 {
			a := asked{from: netip.AddrPortFrom(address(i%3), c.first+uint16(i/3)), port: ports[i/6%len(ports)], network: network}
			if c.persist == farm.L4PersistMAC && i%2 == 1 {
				a.client, a.from = 1, netip.AddrPortFrom(second(c.six), a.from.Port())
			}
			out = append(out, a)
		}
	}
	return out
}

// second is the address of the second client.
func second(six bool) netip.Addr {
	if six {
		return netip.MustParseAddr("fd00:1::3")
	}
	return netip.MustParseAddr("10.10.1.3")
}

// run asks the cell's farm and checks every answer and all together.
func (c *cell) run(s *housetest.Site) (problems []string) {
	say := func(format string, args ...any) {
		problems = append(problems, c.String()+": "+fmt.Sprintf(format, args...))
	}
	did := c.plan()
	for i := range did {
		a := &did[i]
		got, err := s.Clients[a.client].Ask(a.network, a.from, netip.AddrPortFrom(c.vip, a.port).String())
		if err != nil {
			say("%s to port %d from %v: %v", a.network, a.port, a.from, err)
			return problems
		}
		if err := got.Again("and again"); err != nil {
			say("%s to port %d from %v: second answer: %v", a.network, a.port, a.from, err)
		}
		a.server = got.Server
		if wrong := c.wrong(s, a, got); wrong != "" {
			say("%s to port %d from %v: %s", a.network, a.port, a.from, wrong)
		}
		if c.alg != farm.L4LeastConn || c.persist != farm.L4PersistNone {
			got.Close()
			continue
		}
		defer got.Close() // for all of them count
	}
	if wrong := c.distribution(did); wrong != "" {
		say("%s", wrong)
	}
	return problems
}

// wrong checks what the backend saw.
func (c *cell) wrong(s *housetest.Site, a *asked, got *housetest.Answer) string {
	machines, prefix := s.Backends, "b"
	if c.nat == farm.NATDirect {
		machines, prefix = s.Direct, "d"
	}
	i := slices.IndexFunc(machines, func(m *housetest.Machine) bool { return m.Name == got.Server })
	if i < 0 || !strings.HasPrefix(got.Server, prefix) {
		return "answered by " + got.Server
	}
	to, from := netip.AddrPortFrom(netip.MustParseAddr(machines[i].V4), a.port), a.from
	if c.six {
		to = netip.AddrPortFrom(netip.MustParseAddr(machines[i].V6), a.port)
	}
	if c.kind == "tcp" || c.kind == "udp" || c.kind == "tcp_udp" {
		to = netip.AddrPortFrom(to.Addr(), 8080)
	}
	if c.nat == farm.NATDirect {
		to = netip.AddrPortFrom(c.vip, a.port)
	}
	if got.To != to {
		return fmt.Sprintf("arrived at %v instead of %v", got.To, to)
	}
	if c.nat != farm.NATMasquerade {
		if got.From.Addr() == from.Addr() && c.datapath == farm.DataPathUserspace {
			return "" // from a port of ours: the client's may be in use here
		}
		if got.From != from {
			return fmt.Sprintf("came from %v", got.From)
		}
		return ""
	}
	appliance := netip.MustParseAddr(housetest.ApplianceBack4)
	if c.six {
		appliance = netip.MustParseAddr(housetest.ApplianceBack6)
	}
	if got.From.Addr() != appliance {
		return fmt.Sprintf("came from %v instead of %v", got.From, appliance)
	}
	return ""
}

// distribution checks who got what, all together.
func (c *cell) distribution(did []asked) string {
	count := map[string]int{}
	kept, hashed := map[string]string{}, map[string]string{}
	for _, a := range did {
		count[a.server]++
		if key, ok := c.key(a); ok {
			if was := kept[key]; was != "" && was != a.server {
				return fmt.Sprintf("client %q was at %s, then at %s", key, was, a.server)
			}
			kept[key] = a.server
		} else if key, ok := c.hashed(a); ok {
			if was := hashed[key]; was != "" && was != a.server {
				return fmt.Sprintf("%q led to %s, then to %s", key, was, a.server)
			}
			hashed[key] = a.server
		}
	}
	if c.alg == farm.L4Priority {
		if len(count) != 1 || !strings.HasSuffix(did[0].server, "1") {
			return fmt.Sprintf("priority 1 takes all, not %v", count)
		}
		return ""
	}
	if c.persist != farm.L4PersistNone {
		if c.alg == farm.L4RoundRobin {
			first := map[string]int{}
			for _, server := range kept {
				first[server]++
			}
			if len(kept)%2 == 0 && first[did[0].server]*2 != len(kept) {
				return fmt.Sprintf("%d clients in turn: %v", len(kept), first)
			}
		}
		return ""
	}
	switch {
	case c.alg == farm.L4RoundRobin && (len(count) != 2 || count[did[0].server]*2 != len(did)):
		return fmt.Sprintf("in turn: %v", count)
	case c.alg == farm.L4LeastConn && c.datapath == farm.DataPathUserspace && count[did[0].server]*2 != len(did):
		return fmt.Sprintf("open connections: %v", count)
	case len(hashed) >= 8 && len(count) != 2, (c.alg == farm.L4Weight || c.alg == farm.L4LeastConn) && len(count) != 2:
		return fmt.Sprintf("not shared: %v", count)
	}
	return ""
}

// chosen leaves the cells whose name has the text of SLUICE_E2E_CELLS, for a
// look at some of them, and every ninth under the race detector, whose program
// is slow to start with so many.
func chosen(all []*cell) []*cell {
	part := os.Getenv("SLUICE_E2E_CELLS")
	return slices.DeleteFunc(all, func(c *cell) bool {
		return !strings.Contains(c.String(), part) || raceBuild && c.number%9 != 0
	})
}

func TestEveryCellOfTheContractCarriesTraffic(t *testing.T) {
	// Not all at once: a change has ten seconds, whatever else the machine does.
	parts := map[string][]*cell{}
	for _, c := range chosen(cells()) {
		name := string(c.nat) + " in " + string(c.datapath)
		parts[name] = append(parts[name], c)
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		t.Run(name, func(t *testing.T) { carry(t, parts[name]) })
	}
}

// carry has an appliance of its own carry the cells' farms, and asks them.
func carry(t *testing.T, all []*cell) {
	s := housetest.Plan{Clients: 2, Sources: 8, Backends: 2, Direct: 2}.Build(housetest.New(t))
	var yaml strings.Builder
	var vips []string
	yaml.WriteString("farms:\n")
	for _, c := range all {
		yaml.WriteString(c.farm(s))
		vips = append(vips, netip.PrefixFrom(c.vip, c.vip.BitLen()).String())
	}
	s.FrontLink.Add(vips...)
	for _, c := range s.Clients {
		c.Route("10.20.0.0/16 via "+housetest.ApplianceFront4, "fd00:20::/64 via "+housetest.ApplianceFront6)
	}
	for _, d := range s.Direct {
		d.Sysctl("net.ipv6.ip_nonlocal_bind", "1") // answers by UDP name their source
		d.Route("local 10.20.0.0/16 dev lo", "local fd00:20::/64 dev lo")
		d.Server(d.Name, 80, 8001, 8002, 8003)
	}
	for _, b := range s.Backends {
		b.Server(b.Name, 80, 8080, 8001, 8002, 8003)
	}
	s.Appliance.Sysctl("net.ipv4.ip_forward", "1")
	s.Appliance.Sysctl("net.ipv6.conf.all.forwarding", "1")
	began := time.Now()
	installed(t, s, "--config", file(t, yaml.String()))
	t.Logf("%d farms are up after %v", len(all), time.Since(began).Round(time.Millisecond))

	began = time.Now()
	work := make(chan *cell)
	var mu sync.Mutex
	var wg sync.WaitGroup
	bad, asks := 0, 0
	for range 4 {
		wg.Go(func() {
			for c := range work {
				problems := c.run(s)
				mu.Lock()
				asks += len(c.plan())
				if len(problems) > 0 {
					if bad++; bad <= 20 {
						t.Error(problems[0])
					}
				}
				mu.Unlock()
			}
		})
	}
	for _, c := range all {
		mu.Lock()
		enough := bad > 60
		mu.Unlock()
		if enough {
			t.Error("enough of that")
			break
		}
		work <- c
	}
	close(work)
	wg.Wait()
	t.Logf("%d of %d cells held, with %d connections in %v", len(all)-bad, len(all), asks, time.Since(began).Round(time.Millisecond))
}
