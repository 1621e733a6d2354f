package farm

import (
	"net/netip"
	"slices"
)

// Resolve decides how the host name of a backend is expanded.
type Resolve string

// The expansions; the zero value is the first.
const (
	ResolveFirst   Resolve = ""    // one server: one of the addresses
	ResolveAll     Resolve = "all" // a server at each address
	ResolveService Resolve = "srv" // the servers of an SRV record (RFC 2782)
)

// ResolveFirstWord is the word for ResolveFirst.
const ResolveFirstWord = "first"

// ResolveWords lists every word.
func ResolveWords() []string {
	return []string{ResolveFirstWord, string(ResolveAll), string(ResolveService)}
}

// Named reports whether Host is a name.
func (b *Backend) Named() bool {
	_, err := netip.ParseAddr(b.Host)
	return err != nil
}

// Unresolved reports whether the backend has a name without an address: it Spreads, or was
// never resolved.
func (b *Backend) Unresolved() bool { return !b.Addr.IsValid() && b.Host != "" && b.Named() }

// Spreads reports whether traffic goes to backends made from the addresses of its name, not
// to the backend itself. They come after the configured ones.
func (b *Backend) Spreads() bool { return b.Resolve != ResolveFirst && b.Of == 0 }

// ShownAddress returns the backend's readable address: the resolved one if it is one of
// several of a name, else the configured one.
func (b *Backend) ShownAddress() string {
	if b.Of != 0 {
		return b.Addr.String()
	}
	return b.Host
}

// Configured returns the backends an operator configured.
func (g Group) Configured() []Backend { return g.only(func(b *Backend) bool { return b.Of == 0 }) }

// Parts returns the backends made from the addresses of one that Spreads.
func (g Group) Parts(of uint32) []Backend {
	return g.only(func(b *Backend) bool { return b.Of == of && of != 0 })
}

func (g Group) only(fits func(b *Backend) bool) (out []Backend) {
	list := g.Backends()
	for i := range list {
		if fits(&list[i]) {
			out = append(out, list[i])
		}
	}
	return out
}

// Usable returns the configuration for engines, in which backends without an address are
// out of use. If there are any, it returns a copy that shares all other farms.
func (c *Config) Usable() *Config { return new(Usable).Of(c) }

// Usable computes Config.Usable for successive configurations and examines only changed
// farms. It must not be used concurrently.
type Usable struct{ reached Memo[bool] }

// Of returns c.Usable().
func (u *Usable) Of(c *Config) *Config {
	out := c
	for i, reached := range u.reached.Of(c.Farms, (*Farm).reached) {
		if reached {
			continue
		}
		if out == c {
			next := *c
			next.Farms = slices.Clone(c.Farms)
			out = &next
		}
		out.Farms[i] = c.Farms[i].Clone()
		out.Farms[i].leaveOut()
	}
	return out
}

const lastPriority = 9

// reached reports whether all backends of the farm have an address.
func (f *Farm) reached() bool {
	for _, g := range f.Groups() {
		if slices.ContainsFunc(g.Backends(), func(b Backend) bool { return !b.Addr.IsValid() }) {
			return false
		}
	}
	return true
}

// leaveOut takes backends without an address out of use.
func (f *Farm) leaveOut() {
	for _, g := range f.Groups() {
		list := g.Backends()
		for i := range list {
			b := &list[i]
			if !b.Addr.IsValid() {
				b.Maintenance = MaintenanceCut
			}
			if b.Spreads() {
				b.Priority = lastPriority // other priorities need not replace it
			}
		}
	}
}
