package e2e_test

import (
	"fmt"
	"maps"
	"math"
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

// cell is one combination the contract allows (api-reference §4.2), carried by its own farm
// at its own address.
type cell struct {
	number   int
	nat      farm.NATType
	kind     string // tcp, udp, tcp_udp, all, ports
	six      bool
	alg      farm.L4Algorithm
	persist  farm.L4Persistence
	datapath farm.DataPath
	weighted bool // backend weights are 3 and 1
	any      bool // its farm accepts any address of the appliance, at its own port
	vip      netip.Addr
	first    uint16 // client port, unique per cell because backends are shared
}

func (c *cell) String() string {
	family, persist := "v4", string(c.persist)
	if c.six {
		family = "v6"
	}
	if persist == "" {
		persist = "none"
	}
	name := []string{string(c.nat), c.kind, family, string(c.alg), persist, string(c.datapath)}
	if c.weighted {
		name = append(name, "weighted")
	}
	return strings.Join(name, "/")
}

// vip returns the unique address of the cell with that number.
func vip(n int, six bool) netip.Addr {
	if six {
		return netip.MustParseAddr(fmt.Sprintf("fd00:20::%x", n+1))
	}
	return netip.AddrFrom4([4]byte{10, 20, byte(n >> 8), byte(n)})
}

// cells returns all allowed combinations. Half of them have weights: some of each algorithm,
// persistence and data path. Those that depend on the destination address are tested with
// several.
func cells() (all []*cell) {
	next := map[bool]uint16{false: 2000, true: 2000}
	persistences := append([]farm.L4Persistence{farm.L4PersistNone}, farm.L4Persistences()...)
	for _, nat := range farm.NATTypes() {
		for k, kind := range []string{"tcp", "udp", "tcp_udp", "all", "ports"} {
			for _, alg := range farm.L4Algorithms() {
				for _, persist := range persistences {
					for _, path := range []farm.DataPath{farm.DataPathUserspace, farm.DataPathKernel} {
						packets := nat == farm.NATDirect || nat == farm.NATStateless
						if packets && (alg == farm.L4LeastConn || path == farm.DataPathUserspace) {
							continue // connections are not counted, and there are no sockets
						}
						if path == farm.DataPathUserspace && !userspace(nat, kind, persist) {
							continue
						}
						for _, six := range []bool{false, true} {
							n := len(all)
							c := &cell{number: n, nat: nat, kind: kind, six: six, alg: alg, persist: persist, datapath: path, weighted: (k%2 == 0) != six, vip: vip(n, six), first: next[six]}
							c.any = (alg == farm.L4HashDst || persist == farm.L4PersistDst) && !packets && kind != "all" && kind != "ports"
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

// farm returns the cell's farm as a line of YAML.
func (c *cell) farm(s *housetest.Site) string {
	vport, protocol, port := fmt.Sprint(c.ports()[0]), c.kind, ", port: 8080"
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
		more := port
		if c.alg == farm.L4Priority {
			more += fmt.Sprintf(", priority: %d", i+1)
		}
		if i == 0 {
			more += fmt.Sprintf(", weight: %d", c.weight())
		}
		backends = append(backends, fmt.Sprintf("{ip: %q%s}", address, more))
	}
	at := c.vip
	if c.any {
		at = netip.IPv4Unspecified()
		if c.six {
			at = netip.IPv6Unspecified()
		}
	}
	return fmt.Sprintf("- {name: m%d, profile: l4xnat, vip: %q, vport: %q, protocol: %s, nattype: %s, algorithm: %s, persistence: %q, datapath: %s, backends: [%s]}\n",
		c.number, at, vport, protocol, c.nat, c.alg, c.persist, c.datapath, strings.Join(backends, ", "))
}

// weight returns that of the first backend; the second has 1.
func (c *cell) weight() int {
	if c.weighted {
		return 3
	}
	return 1
}

// ports returns the ports used by the cell's clients.
func (c *cell) ports() []uint16 {
	switch {
	case c.any:
		return []uint16{uint16(20000 + c.number)}
	case c.kind == "all":
		return []uint16{80, 8003}
	case c.kind == "ports":
		return []uint16{80, 8001, 8003}
	}
	return []uint16{80}
}

// addresses returns the destination addresses used by the cell's clients.
func (c *cell) addresses() []netip.Addr {
	if !c.any {
		return []netip.Addr{c.vip}
	}
	var out []netip.Addr
	for i := range 16 {
		out = append(out, vip(2*i+c.number%2, c.six)) // any VIP may be used
	}
	return out
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
	to      netip.Addr
	port    uint16
	network string
	server  string
}

// key returns the key of the cell's persistence; ok is false without one.
func (c *cell) key(a asked) (key string, ok bool) {
	switch c.persist {
	case farm.L4PersistSrc:
		return a.from.Addr().String(), true
	case farm.L4PersistSrcPt:
		return fmt.Sprint(a.from.Port()), true
	case farm.L4PersistMAC:
		return fmt.Sprint(a.client), true
	case farm.L4PersistDst:
		return a.to.String(), true
	case farm.L4PersistDstPt:
		return fmt.Sprint(a.port), true
	case farm.L4PersistSrcSrc:
		return a.from.String(), true
	case farm.L4PersistSrcDest:
		return fmt.Sprint(a.from.Addr(), a.port), true
	}
	return "", false
}

// hashed returns the input of the cell's hash algorithm, if any.
func (c *cell) hashed(a asked) (key string, ok bool) {
	switch c.alg {
	case farm.L4HashSrc:
		return a.from.Addr().String(), true
	case farm.L4HashSrcPt:
		return fmt.Sprint(a.from.Port()), true
	case farm.L4HashFlow:
		return a.from.String(), true
	case farm.L4HashDst:
		return a.to.String(), true
	case farm.L4Priority:
		return "", true
	case farm.L4HashDstPt:
		return fmt.Sprint(a.port), true
	case farm.L4SymHash:
		return fmt.Sprint(a.from, a.to, a.port, a.network), true
	}
	return "", false
}

// plan returns the connections of the cell. Without persistence each is another flow; with
// it clients return from other ports, to other ports.
func (c *cell) plan() (out []asked) {
	address := func(i int) netip.Addr {
		if c.six {
			return netip.MustParseAddr(fmt.Sprintf("fd00:1::%d", 100+i))
		}
		return netip.AddrFrom4([4]byte{10, 10, 1, byte(100 + i)})
	}
	ports, addresses := c.ports(), c.addresses()
	for _, network := range c.networks() {
		if c.persist == farm.L4PersistNone {
			n := 24
			if c.alg == farm.L4RoundRobin || c.alg == farm.L4Priority || c.alg == farm.L4HashDst && !c.any {
				n = 8
			}
			for i := range n {
				out = append(out, asked{from: netip.AddrPortFrom(address(i%8), c.first+uint16(i)), to: addresses[i%len(addresses)], port: ports[i%len(ports)], network: network})
			}
			continue
		}
		for i := range 12 {
			a := asked{from: netip.AddrPortFrom(address(i%3), c.first+uint16(i/3)), to: addresses[i/4%len(addresses)], port: ports[i/4%len(ports)], network: network}
			if c.persist == farm.L4PersistMAC && i%2 == 1 {
				a.client, a.from = 1, netip.AddrPortFrom(second(c.six), c.first+uint16(i)) // no port is used with two addresses
			}
			out = append(out, a)
		}
	}
	return out
}

// second returns the address of the second client.
func second(six bool) netip.Addr {
	if six {
		return netip.MustParseAddr("fd00:1::3")
	}
	return netip.MustParseAddr("10.10.1.3")
}

// run makes the cell's connections and checks each and all together.
func (c *cell) run(s *housetest.Site) (did []asked, problems []string) {
	say := func(format string, args ...any) {
		problems = append(problems, c.String()+": "+fmt.Sprintf(format, args...))
	}
	did = c.plan()
	for i := range did {
		a := &did[i]
		got, err := s.Clients[a.client].Ask(a.network, a.from, netip.AddrPortFrom(a.to, a.port).String())
		if err != nil {
			say("%s to port %d from %v: %v", a.network, a.port, a.from, err)
			return nil, problems
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
		defer got.Close() // at the end: all of them count
	}
	if wrong := c.distribution(did); wrong != "" {
		say("%s", wrong)
	}
	return did, problems
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
			return "" // from our own port: the client's may be in use here
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

// distribution checks all results together: known clients stay, and others are distributed
// by the algorithm.
func (c *cell) distribution(did []asked) string {
	kept, hashed, count := map[string]string{}, map[string]string{}, map[string]int{}
	fresh := 0
	for _, a := range did {
		if key, ok := c.key(a); ok {
			if was := kept[key]; was != "" {
				if was != a.server {
					return fmt.Sprintf("client %q was at %s, then at %s", key, was, a.server)
				}
				continue
			}
			kept[key] = a.server
		}
		fresh++
		count[a.server[1:]]++
		if key, ok := c.hashed(a); ok {
			if was := hashed[key]; was != "" && was != a.server {
				return fmt.Sprintf("%q led to %s, then to %s", key, was, a.server)
			}
			hashed[key] = a.server
		}
	}
	first := count["1"]
	switch c.alg {
	case farm.L4Priority:
		if first != fresh {
			return fmt.Sprintf("priority 1 takes all, not %v", count)
		}
	case farm.L4RoundRobin: // whatever the weights
		if fresh%2 == 0 && first != fresh/2 {
			return fmt.Sprintf("in turn: %v", count)
		}
	case farm.L4LeastConn:
		if want := fresh * c.weight() / (c.weight() + 1); c.datapath == farm.DataPathUserspace && c.persist == farm.L4PersistNone && max(first-want, want-first) > 1 {
			return fmt.Sprintf("open connections, want %d at the first: %v", want, count)
		}
	}
	if len(hashed) >= 16 && len(count) != 2 {
		return fmt.Sprintf("not shared: %v", count)
	}
	return ""
}

// shares sums over cells how many new clients got the first of two backends, if chosen at
// random or by a hash.
type shares map[string]*struct{ first, all int }

func (s shares) add(c *cell, did []asked) {
	switch c.alg {
	case farm.L4Weight, farm.L4HashSrcPt, farm.L4HashFlow, farm.L4SymHash:
	default:
		return
	}
	if c.persist != farm.L4PersistNone {
		return
	}
	name := string(c.alg)
	if c.weighted {
		name += ", weighted"
	}
	if s[name] == nil {
		s[name] = new(struct{ first, all int })
	}
	for _, a := range did {
		s[name].all++
		if strings.HasSuffix(a.server, "1") {
			s[name].first++
		}
	}
}

// wrong returns those that differ from the weights by more than five standard deviations.
func (s shares) wrong() (out []string) {
	for name, n := range s {
		p := 0.5
		if strings.HasSuffix(name, "weighted") {
			p = 0.75
		}
		if off := float64(n.first) - p*float64(n.all); math.Abs(off) > 5*math.Sqrt(float64(n.all)*p*(1-p)) {
			out = append(out, fmt.Sprintf("%s: %d of %d at the first backend, want about %.0f", name, n.first, n.all, p*float64(n.all)))
		}
	}
	return out
}

// chosen returns the cells whose name contains SLUICE_E2E_CELLS, if set, and every ninth
// under the race detector, where the program starts slowly with so many.
func chosen(all []*cell) []*cell {
	part := os.Getenv("SLUICE_E2E_CELLS")
	return slices.DeleteFunc(all, func(c *cell) bool {
		return !strings.Contains(c.String(), part) || raceBuild && c.number%9 != 0
	})
}

func TestEveryCombinationForwardsTraffic(t *testing.T) {
	// In parts, because a change must finish within ten seconds, even on a busy machine.
	parts := map[string][]*cell{}
	for _, c := range chosen(cells()) {
		name := string(c.nat) + " in " + string(c.datapath)
		if c.any {
			name += " at any address" // not used by any other farm
		}
		parts[name] = append(parts[name], c)
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		t.Run(name, func(t *testing.T) { carry(t, parts[name]) })
	}
}

// carry starts an appliance with the cells' farms and runs the cells.
func carry(t *testing.T, all []*cell) {
	s := housetest.Plan{Clients: 2, Sources: 8, Backends: 2, Direct: 2}.Build(housetest.New(t))
	var yaml strings.Builder
	var vips []string
	for n := range 32 {
		vips = append(vips, netip.PrefixFrom(vip(n, n%2 == 1), vip(n, n%2 == 1).BitLen()).String())
	}
	yaml.WriteString("farms:\n")
	for _, c := range all {
		yaml.WriteString(c.farm(s))
		if c.number >= 32 && !c.any {
			vips = append(vips, netip.PrefixFrom(c.vip, c.vip.BitLen()).String())
		}
	}
	s.FrontLink.Add(vips...)
	for _, c := range s.Clients {
		c.Route("10.20.0.0/16 via "+housetest.ApplianceFront4, "fd00:20::/64 via "+housetest.ApplianceFront6)
	}
	for _, d := range s.Direct {
		d.Sysctl("net.ipv6.ip_nonlocal_bind", "1") // UDP replies set their source
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
	got := shares{}
	for range 4 {
		wg.Go(func() {
			for c := range work {
				did, problems := c.run(s)
				mu.Lock()
				asks += len(did)
				got.add(c, did)
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
	for _, wrong := range got.wrong() {
		t.Error(wrong)
	}
	t.Logf("%d of %d cells held, with %d connections in %v", len(all)-bad, len(all), asks, time.Since(began).Round(time.Millisecond))
}
