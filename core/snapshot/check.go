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
	if f.VPort == 0 {
		c.fail("farm %q: virtual port 0 does not exist", f.Name)
	}
	switch {
	case f.Profile != farm.ProfileHTTP:
		c.fail("farm %q: no engine carries profile %q", f.Name, f.Profile)
	case f.HTTP == nil:
		c.fail("farm %q: profile http without its directives", f.Name)
	default:
		for i := range f.HTTP.Services {
			c.service(f, &f.HTTP.Services[i])
		}
	}
}

func (c *checker) service(f *farm.Farm, s *farm.Service) {
	if err := c.services.take(s.ID); err != nil {
		c.fail("farm %q: service %q: %w", f.Name, s.Name, err)
	}
	for i := range s.Backends {
		b := &s.Backends[i]
		if err := c.backends.take(b.ID); err != nil {
			c.fail("farm %q: service %q: backend at position %d: %w", f.Name, s.Name, i, err)
		}
		if !reachable(b.Addr) {
			c.fail("farm %q: service %q: backend %d (%s): address %s cannot be connected to", f.Name, s.Name, b.ID, b.Host, b.Addr)
		}
		if b.Port == 0 {
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
