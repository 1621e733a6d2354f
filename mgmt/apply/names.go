package apply

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// resolveTimeout bounds how long one change waits for all its names together;
// resolveAtOnce how many are asked for at the same time.
const (
	resolveTimeout = 5 * time.Second
	resolveAtOnce  = 16
)

// place is a backend and where it is.
type place struct {
	group farm.Group
	index int
}

func (p place) backend() *farm.Backend { return &p.group.Backends()[p.index] }

func backends(cfg *farm.Config) []place {
	var out []place
	for i := range cfg.Farms {
		for _, g := range cfg.Farms[i].Groups() {
			for k := range g.Backends() {
				out = append(out, place{g, k})
			}
		}
	}
	return out
}

// resolveNew fills the addresses of cfg: literal ones by themselves, names
// that are new or changed by asking. Names that stayed keep their address. It
// returns how many names it asked for.
func (a *Applier) resolveNew(ctx context.Context, old, cfg *farm.Config) (int, error) {
	before := map[uint32]farm.Backend{}
	for _, p := range backends(old) {
		before[p.backend().ID] = *p.backend()
	}
	var ask []place
	for _, p := range backends(cfg) {
		b := p.backend()
		if addr, err := netip.ParseAddr(b.Host); err == nil {
			b.Addr = addr
			continue
		}
		was, known := before[b.ID]
		stale := known && b.ID != 0 && was.Host != b.Host && was.Addr == b.Addr
		if !b.Addr.IsValid() || stale {
			b.Addr = netip.Addr{}
			ask = append(ask, p)
		}
	}
	for i, err := range a.lookup(ctx, ask) {
		if err != nil {
			p := ask[i]
			return 0, &validate.Error{Path: validate.PathOfBackend(p.group, p.index), Field: "ip",
				Message: fmt.Sprintf("ip must be an address or a resolvable host name, got %q: %s", p.backend().Host, reason(err))}
		}
	}
	return len(ask), nil
}

// lookup resolves the hosts of places into their backends; errors are by position.
func (a *Applier) lookup(ctx context.Context, places []place) []error {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	errs := make([]error, len(places))
	slots := make(chan struct{}, resolveAtOnce)
	var all sync.WaitGroup
	for i, p := range places {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			b := p.backend()
			addrs, err := a.resolve(ctx, b.Host)
			if err == nil {
				b.Addr, err = choose(addrs, b.Addr, p.group.Farm)
			}
			errs[i] = err
		})
	}
	all.Wait()
	return errs
}

// choose takes an address of the VIP's IP version, or of the other one when
// there is none and the farm takes either: the one known before if it is still
// there, else the lowest, whatever order the name server likes today.
func choose(addrs []netip.Addr, known netip.Addr, f *farm.Farm) (netip.Addr, error) {
	var fit, other []netip.Addr
	for _, addr := range addrs {
		addr = addr.Unmap()
		switch {
		case addr.Zone() != "":
		case addr.Is4() == f.VIP.Is4():
			fit = append(fit, addr)
		case f.MixesVersions():
			other = append(other, addr)
		}
	}
	if len(fit) == 0 {
		fit = other
	}
	if len(fit) == 0 {
		return netip.Addr{}, fmt.Errorf("it has no address of the IP version of the vip (%s)", f.VIP)
	}
	if slices.Contains(fit, known) {
		return known, nil
	}
	return slices.MinFunc(fit, netip.Addr.Compare), nil
}

func reason(err error) string {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return dns.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no answer within %v", resolveTimeout)
	}
	return strings.TrimSpace(err.Error())
}

// RefreshNames asks for all host names again and publishes the configuration
// when an address changed; a name that does not resolve keeps its address, and
// all do when the new ones together break a rule. No revision is written: the
// document stays the same. It returns how many addresses changed; on an error
// they are in force only after the next publication.
func (a *Applier) RefreshNames(ctx context.Context) (changed int, err error) {
	asked := a.now.Load().cfg.Clone()
	var names []place
	for _, p := range backends(asked) {
		if _, err := netip.ParseAddr(p.backend().Host); err != nil {
			names = append(names, p)
		}
	}
	if len(names) == 0 {
		return 0, nil
	}
	found := map[uint32]farm.Backend{}
	for i, err := range a.lookup(ctx, names) {
		if err == nil {
			found[names[i].backend().ID] = *names[i].backend()
		}
	}
	if err := a.lock(ctx); err != nil {
		return 0, err
	}
	defer a.unlock()
	now := a.now.Load()
	cfg := now.cfg.Clone()
	for _, p := range backends(cfg) {
		b := p.backend()
		if fresh, ok := found[b.ID]; ok && fresh.Host == b.Host && fresh.Addr != b.Addr {
			b.Addr = fresh.Addr
			changed++
		}
	}
	if changed == 0 || a.rules.Config(cfg) != nil {
		return 0, nil
	}
	a.now.Store(&state{cfg, now.rev})
	_, err = a.republish(ctx, cfg)
	return changed, err
}
