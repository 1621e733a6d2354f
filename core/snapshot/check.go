package snapshot

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// maxProblems is the maximum number of problems that Check reports.
const maxProblems = 8

// Check reports whether an engine can run cfg: IDs that index shared tables are present,
// in range and unique, and the addresses and ports of sockets are valid. Engines call it
// themselves because their memory safety depends on it. mgmt enforces the other rules of
// the specification. The error wraps ErrConfig and names the first problems.
func Check(cfg *farm.Config) error {
	c := newChecker()
	for i := range cfg.Farms {
		c.farm(&cfg.Farms[i])
	}
	if len(c.problems) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrConfig, errors.Join(c.problems...))
}

type checker struct {
	farms, services, backends ids
	problems                  []error
}

func newChecker() *checker {
	return &checker{farms: ids{max: farm.MaxFarmID}, services: ids{max: 1<<32 - 1}, backends: ids{max: farm.MaxBackendID}}
}

// numbers holds the IDs of a farm's services and backends.
type numbers struct{ services, backends []uint32 }

func numbersOf(f *farm.Farm) *numbers {
	n := &numbers{}
	for _, g := range f.Groups() {
		n.services = append(n.services, g.ID())
		for i := range g.Backends() {
			n.backends = append(n.backends, g.Backends()[i].ID)
		}
	}
	return n
}

// take adds the IDs of a valid farm. It reports false if another farm uses one of them.
func (c *checker) take(id uint32, n *numbers) bool {
	if c.farms.take(id) != nil {
		return false
	}
	for _, id := range n.services {
		if c.services.take(id) != nil {
			return false
		}
	}
	for _, id := range n.backends {
		if c.backends.take(id) != nil {
			return false
		}
	}
	return true
}

// release removes the IDs that take added.
func (c *checker) release(id uint32, n *numbers) {
	c.farms.seen.Take(id)
	for _, id := range n.services {
		c.services.seen.Take(id)
	}
	for _, id := range n.backends {
		c.backends.seen.Take(id)
	}
}

func (c *checker) fail(format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, fmt.Errorf(format, args...))
	}
}

func (c *checker) farm(f *farm.Farm) {
	if err := c.farms.take(f.ID); err != nil {
		c.fail("farm %q: %w", f.Name, err)
	}
	if !f.VIP.IsValid() || f.VIP.IsMulticast() {
		c.fail("farm %q: vip %s is not an address clients can connect to", f.Name, f.VIP)
	}
	switch {
	case f.Complete():
		c.ports(f)
		for _, g := range f.Groups() {
			c.group(g)
		}
	case !slices.Contains(farm.Profiles(), f.Profile):
		c.fail("farm %q: no engine carries profile %q", f.Name, f.Profile)
	default:
		c.fail("farm %q: profile %s without its settings, or with those of another", f.Name, f.Profile)
	}
}

// ports checks that the port ranges are disjoint and ascending, so that a packet belongs
// to at most one. Both data paths rely on this.
func (c *checker) ports(f *farm.Farm) {
	ports, last := f.VPorts(), uint16(0)
	if len(ports) > farm.MaxPortRanges {
		c.fail("farm %q: %d port ranges, at most %d are possible", f.Name, len(ports), farm.MaxPortRanges)
	}
	for _, p := range ports {
		if p.First == 0 {
			c.fail("farm %q: virtual port 0 does not exist", f.Name)
			return
		}
		if p.First <= last || p.Last < p.First {
			c.fail("farm %q: virtual ports %s are not ascending or not apart", f.Name, f.PortsText())
			return
		}
		last = p.Last
	}
}

// group checks the backends of a group. A backend must have the VIP's address family
// unless the engine opens its own connections. It must have a port unless it may use the
// client's.
func (c *checker) group(g farm.Group) {
	where := place{g}
	if err := c.services.take(g.ID()); err != nil {
		c.fail("%s: %w", where, err)
	}
	mixes, keepsPort := g.Farm.MixesVersions(), g.Farm.KeepsPort()
	for i := range g.Backends() {
		b := &g.Backends()[i]
		c.backend(where, i, b)
		if !b.Addr.IsValid() {
			continue
		}
		if !mixes && b.Addr.Is4() != g.Farm.VIP.Is4() {
			c.fail("%s: backend %d (%s): its IP version is not that of the vip %s", where, b.ID, b.Host, g.Farm.VIP)
		}
		if !keepsPort && b.Port == 0 {
			c.fail("%s: backend %d (%s): port 0 does not exist", where, b.ID, b.Host)
		}
	}
}

// place is the location of a problem. String builds its text on demand, because every
// change checks farms and problems are rare.
type place struct{ of farm.Group }

// String returns the names of the farm and the service.
func (p place) String() string {
	if p.of.OfService() {
		return fmt.Sprintf("farm %q: service %q", p.of.Farm.Name, p.of.Name())
	}
	return fmt.Sprintf("farm %q", p.of.Farm.Name)
}

func (c *checker) backend(where place, position int, b *farm.Backend) {
	if err := c.backends.take(b.ID); err != nil {
		c.fail("%s: backend at position %d: %w", where, position, err)
	}
	if !b.Addr.IsValid() && b.Maintenance == farm.MaintenanceCut {
		return // the host name did not resolve, so the backend gets no traffic
	}
	if !reachable(b.Addr) {
		c.fail("%s: backend %d (%s): address %s cannot be connected to", where, b.ID, b.Host, b.Addr)
	}
}

func reachable(a netip.Addr) bool {
	return a.IsValid() && !a.IsUnspecified() && !a.IsMulticast()
}

// ids is a set of used IDs from 1 to max.
type ids struct {
	max  uint32
	seen farm.IDSet
}

func (s *ids) take(id uint32) error {
	if id == 0 || id > s.max {
		return fmt.Errorf("id %d is outside 1 … %d", id, s.max)
	}
	if !s.seen.Add(id) {
		return fmt.Errorf("id %d is used twice", id)
	}
	return nil
}
