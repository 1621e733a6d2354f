package resolve

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// Lookup resolves a name. An error that is neither ErrNoName nor ErrNoAddress means that no
// server answered. Parts of an answer may be unknown.
func (s System) Lookup(ctx context.Context, q Question) (Answer, error) {
	if !q.Service {
		if addrs := s.fromHosts(q.Name); len(addrs) > 0 {
			return tidy(Answer{Targets: targetsOf(addrs), TTL: hostsTTL}), nil
		}
	}
	c, err := s.config()
	if err != nil {
		return Answer{}, err
	}
	none := ErrNoName
	for _, name := range c.names(q.Name) {
		var a Answer
		if q.Service {
			a, err = s.service(ctx, c, name)
		} else {
			a, err = c.host(ctx, name)
		}
		switch {
		case err == nil:
			return tidy(a), nil
		case errors.Is(err, ErrNoAddress):
			none = err // the name exists, which is more specific
		case !errors.Is(err, ErrNoName):
			return Answer{}, err
		}
	}
	return Answer{}, none
}

// host queries the addresses of both IP versions at once.
func (c config) host(ctx context.Context, name string) (Answer, error) {
	var ttls [2]time.Duration
	var errs [2]error
	var found [2][]netip.Addr
	var both sync.WaitGroup
	for i, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
		both.Go(func() {
			var records []dns.RR
			records, ttls[i], errs[i] = c.records(ctx, name, kind)
			found[i] = addresses(records)
		})
	}
	both.Wait()
	a := Answer{Targets: targetsOf(append(found[0], found[1]...)), Unknown4: untold(errs[0]), Unknown6: untold(errs[1])}
	switch {
	case errs[0] != nil && errs[1] != nil && a.Unknown4:
		return Answer{}, errs[0]
	case errs[0] != nil && errs[1] != nil && a.Unknown6:
		return Answer{}, errs[1]
	case errs[0] != nil && errs[1] != nil:
		return Answer{}, errs[0]
	case errs[0] == nil && errs[1] == nil:
		a.TTL = min(ttls[0], ttls[1])
	default:
		a.TTL = max(ttls[0], ttls[1]) // the other is 0
	}
	return a, nil
}

// untold reports whether err means that no server answered.
func untold(err error) bool {
	return err != nil && !errors.Is(err, ErrNoName) && !errors.Is(err, ErrNoAddress)
}

// addresses returns the addresses of records. The address of an AAAA record is an IPv6 address,
// even if it has the form ::ffff:192.0.2.1.
func addresses(records []dns.RR) (out []netip.Addr) {
	for _, rr := range records {
		var addr netip.Addr
		switch rr := rr.(type) {
		case *dns.A:
			addr, _ = netip.AddrFromSlice(rr.A)
			addr = addr.Unmap()
		case *dns.AAAA:
			addr, _ = netip.AddrFromSlice(rr.AAAA.To16())
		}
		if host := addr.Unmap(); host.IsValid() && !host.IsUnspecified() && !host.IsMulticast() {
			out = append(out, addr)
		}
	}
	return out
}

func targetsOf(addrs []netip.Addr) (out []Target) {
	for _, addr := range addrs {
		out = append(out, Target{Addr: addr})
	}
	return out
}

// maxServices is the maximum number of servers of an SRV record that are resolved.
const maxServices = MaxTargets

// service queries an SRV record, then the addresses of the servers in it. A server without
// addresses is omitted; "." means that the service does not exist.
func (s System) service(ctx context.Context, c config, name string) (Answer, error) {
	records, ttl, err := c.records(ctx, name, dns.TypeSRV)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{TTL: ttl}
	hosts := map[string]Answer{}
	var last error
	for _, rr := range records {
		srv, ok := rr.(*dns.SRV)
		if !ok || srv.Target == "." || srv.Port == 0 {
			continue
		}
		host := strings.ToLower(strings.TrimSuffix(srv.Target, "."))
		found, known := hosts[host]
		if !known {
			if len(hosts) == maxServices {
				a.Cut = true
				continue
			}
			found, err = s.server(ctx, c, host)
			if err != nil {
				last = cmp.Or(last, err)
			}
			if untold(err) {
				return Answer{}, err // an incomplete list would remove the missing targets
			}
			hosts[host] = found
		}
		for _, t := range found.Targets {
			t.Host, t.Port, t.Priority, t.Weight = host, srv.Port, srv.Priority, srv.Weight
			a.Targets = append(a.Targets, t)
		}
		if len(found.Targets) > 0 {
			a.TTL = min(a.TTL, found.TTL)
		}
		a.Unknown4, a.Unknown6 = a.Unknown4 || found.Unknown4, a.Unknown6 || found.Unknown6
	}
	if len(a.Targets) == 0 {
		return Answer{}, cmp.Or(last, ErrNoAddress)
	}
	return a, nil
}

// server resolves a host of an SRV record, whose name is complete.
func (s System) server(ctx context.Context, c config, host string) (Answer, error) {
	if addrs := s.fromHosts(host); len(addrs) > 0 {
		return Answer{Targets: targetsOf(addrs), TTL: hostsTTL}, nil
	}
	return c.host(ctx, host)
}

// tidy sorts targets and removes duplicates and targets beyond the limit.
func tidy(a Answer) Answer {
	slices.SortFunc(a.Targets, compare)
	a.Targets = slices.CompactFunc(a.Targets, func(x, y Target) bool { return x.Addr == y.Addr && x.Port == y.Port })
	var count [2]int
	a.Targets = slices.DeleteFunc(a.Targets, func(t Target) bool {
		n := &count[versionOf(t)]
		*n++
		a.Cut = a.Cut || *n > MaxTargets
		return *n > MaxTargets
	})
	return a
}

// versionOf returns 0 for IPv4, 1 for IPv6.
func versionOf(t Target) int {
	if t.Addr.Is4() {
		return 0
	}
	return 1
}

func compare(x, y Target) int {
	return cmp.Or(x.Addr.Compare(y.Addr), cmp.Compare(x.Port, y.Port), cmp.Compare(x.Priority, y.Priority), cmp.Compare(y.Weight, x.Weight))
}
