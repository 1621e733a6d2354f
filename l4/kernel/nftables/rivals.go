package nftables

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/claim"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Kernel farms have no sockets. Another instance of Sluice in the same network namespace sees
// their addresses and ports only in their rules. Of two such farms at one place only one gets
// the clients, and a listener there gets none.

// Rivals knows the farms that other instances have in the kernel. The zero value is ready to
// use. It is safe for concurrent use.
type Rivals struct {
	mu         sync.Mutex
	asked      time.Time // last query of the generation
	read       bool
	generation uint32 // of the packet filter when they were read
	all        []rival
	by         map[netip.Addr][]rival
}

// rival is a place of another instance's farm.
type rival struct {
	rules.Place
	table nft.Table
}

// String returns a description for messages.
func (r rival) String() string {
	return fmt.Sprintf("another instance of Sluice (table %s)", r.table)
}

// covers reports whether r has all addresses of the place p.
func (r rival) covers(p rules.Place) bool { return r.Addr == p.Addr || r.Addr.IsUnspecified() }

// Taken returns why a listener gets no clients because of another instance's farm, or "". A
// listener on all addresses keeps the other ones.
func (r *Rivals) Taken(network string, at netip.AddrPort) string {
	port := farm.PortRange{First: at.Port(), Last: at.Port()}
	p := rules.Place{Addr: at.Addr().Unmap(), Protocol: farm.L4Protocol(network), PortRange: port}
	if o, found := r.find([]rules.Place{p}, rival.covers); found {
		return fmt.Sprintf("a kernel farm of %s takes its clients", o)
	}
	return ""
}

// find returns a farm of another instance for which fits returns true and which overlaps one of
// the places.
func (r *Rivals) find(places []rules.Place, fits func(rival, rules.Place) bool) (rival, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.update()
	for _, p := range places {
		candidates := r.all
		if !p.Addr.IsUnspecified() {
			candidates = slices.Concat(r.by[p.Addr], r.by[netip.IPv4Unspecified()], r.by[netip.IPv6Unspecified()])
		}
		for _, o := range candidates {
			if o.Overlaps(p) && fits(o, p) {
				return o, true
			}
		}
	}
	return rival{}, false
}

// rivalsPause bounds how often the packet filter is queried. Thousands of farms are looked up at
// a time.
const rivalsPause = 20 * time.Millisecond

// update reads the farms of others if rules were changed since. If that fails, the last ones
// are used.
func (r *Rivals) update() {
	if time.Since(r.asked) < rivalsPause {
		return
	}
	r.asked = time.Now()
	generation, err := nft.Generation()
	if err != nil || r.read && generation == r.generation {
		return
	}
	all, err := readRivals()
	if err != nil {
		return
	}
	r.read, r.generation, r.all, r.by = true, generation, all, map[netip.Addr][]rival{}
	for _, o := range all {
		r.by[o.Addr] = append(r.by[o.Addr], o)
	}
}

func readRivals() (all []rival, err error) {
	names, err := nft.TableNames()
	if err != nil {
		return nil, err
	}
	for name := range names {
		if !claim.IsTable(name) || name == claim.Own().Table() {
			continue
		}
		for _, own := range rules.Tables() {
			table := nft.Table{Family: own.Family, Name: name}
			for _, set := range rules.PlaceSets(table) {
				keys, err := nft.Keys(set)
				if err != nil {
					return nil, err
				}
				for _, k := range keys {
					if p, ok := rules.PlaceOf(set, k); ok {
						all = append(all, rival{p, table})
					}
				}
			}
		}
	}
	return all, nil
}

// taken returns the running farms of in, by ID, whose clients another instance's farm gets. A
// farm that is carried at the same place already is not among them: it has a warning.
func (n *Filter) taken(in *rules.Input) map[uint32]string {
	n.mu.Lock()
	carried := n.carried
	n.mu.Unlock()
	out := map[uint32]string{}
	for i := range in.Farms {
		f := &in.Farms[i]
		if f.Stopped || !f.InKernel() {
			continue
		}
		places := rules.Places(f)
		o, found := n.rivals.find(places, rival.covers)
		if !found {
			continue
		}
		at := slices.IndexFunc(carried, func(c farm.Farm) bool { return c.ID == f.ID && !c.Stopped && c.InKernel() })
		if at < 0 || !slices.Equal(rules.Places(&carried[at]), places) {
			const text = "its address is taken: %s has %s in the kernel; use another vip or port, or stop its farm"
			out[f.ID] = fmt.Sprintf(text, o, o.Place)
		}
	}
	return out
}

// Warnings returns the conflict of a farm with one of another instance.
func (n *Filter) Warnings(f *farm.Farm) []string {
	if !f.InKernel() {
		return nil
	}
	o, found := n.rivals.find(rules.Places(f), func(rival, rules.Place) bool { return true })
	if !found {
		return nil
	}
	return []string{fmt.Sprintf("%s has %s in the kernel, too: only one of the two farms gets its clients", o, o.Place)}
}
