package snapshot

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
)

// maxProblems bounds what Check reports; the first ones tell enough.
const maxProblems = 8

// Check tells whether an engine can carry cfg: whatever shared tables are
// indexed by and sockets are opened with is there, in range and unique. The
// rules of the specification are mgmt's (it enforces far more); these are what
// an engine's memory safety and bookkeeping rest on, so an engine checks them
// itself. The error wraps ErrConfig and names the first problems.
func Check(cfg *farm.Config) error {
	c := checker{farms: ids{max: farm.MaxFarmID}, services: ids{max: 1<<32 - 1}, backends: ids{max: farm.MaxBackendID}}
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
	case f.Profile == farm.ProfileHTTP && f.HTTP != nil && f.L4 == nil:
		c.http(f)
	case f.Profile == farm.ProfileL4 && f.L4 != nil && f.HTTP == nil:
		c.l4(f)
	case f.Profile != farm.ProfileHTTP && f.Profile != farm.ProfileL4:
		c.fail("farm %q: no engine carries profile %q", f.Name, f.Profile)
	default:
		c.fail("farm %q: profile %s without its directives, or with those of another", f.Name, f.Profile)
	}
}

func (c *checker) http(f *farm.Farm) {
	if f.VPort == 0 {
		c.fail("farm %q: virtual port 0 does not exist", f.Name)
	}
	for i := range f.HTTP.Services {
		c.service(f, &f.HTTP.Services[i])
	}
}

// l4 checks what both data paths rest on: the ports are apart, so that a packet
// belongs to one of them, and a backend is of the VIP's family unless the engine
// connects anew.
func (c *checker) l4(f *farm.Farm) {
	l := f.L4
	if err := c.services.take(l.ID); err != nil {
		c.fail("farm %q: %w", f.Name, err)
	}
	if len(l.Ports) > farm.MaxPortRanges {
		c.fail("farm %q: %d port ranges, at most %d are possible", f.Name, len(l.Ports), farm.MaxPortRanges)
	}
	last := uint16(0)
	for _, p := range l.Ports {
		if p.First <= last || p.Last < p.First {
			c.fail("farm %q: virtual ports %s are not ascending or not apart", f.Name, l.PortsText())
			break
		}
		last = p.Last
	}
	for i := range l.Backends {
		b := &l.Backends[i]
		c.backend(fmt.Sprintf("farm %q", f.Name), i, b)
		if b.Addr.IsValid() && b.Addr.Is4() != f.VIP.Is4() && !f.MixesVersions() {
			c.fail("farm %q: backend %d (%s): its IP version is not that of the vip %s", f.Name, b.ID, b.Host, f.VIP)
		}
	}
}

func (c *checker) backend(where string, position int, b *farm.Backend) {
	if err := c.backends.take(b.ID); err != nil {
		c.fail("%s: backend at position %d: %w", where, position, err)
	}
	if !b.Addr.IsValid() && b.Maintenance == farm.MaintenanceCut {
		return // its name has no address: nobody is sent there
	}
	if !reachable(b.Addr) {
		c.fail("%s: backend %d (%s): address %s cannot be connected to", where, b.ID, b.Host, b.Addr)
	}
}

func (c *checker) service(f *farm.Farm, s *farm.Service) {
	if err := c.services.take(s.ID); err != nil {
		c.fail("farm %q: service %q: %w", f.Name, s.Name, err)
	}
	for i := range s.Backends {
		b := &s.Backends[i]
		c.backend(fmt.Sprintf("farm %q: service %q", f.Name, s.Name), i, b)
		if b.Port == 0 && b.Addr.IsValid() {
			c.fail("farm %q: service %q: backend %d (%s): port 0 does not exist", f.Name, s.Name, b.ID, b.Host)
		}
	}
}

func reachable(a netip.Addr) bool {
	return a.IsValid() && !a.IsUnspecified() && !a.IsMulticast()
}

// ids remembers which numbers were taken.
type ids struct {
	max  uint32
	seen map[uint32]struct{}
}

func (s *ids) take(id uint32) error {
	if id == 0 || id > s.max {
		return fmt.Errorf("id %d is outside 1 … %d", id, s.max)
	}
	if _, twice := s.seen[id]; twice {
		return fmt.Errorf("id %d is used twice", id)
	}
	if s.seen == nil {
		s.seen = make(map[uint32]struct{})
	}
	s.seen[id] = struct{}{}
	return nil
}
