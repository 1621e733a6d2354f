package farm

import "net/netip"

// Key is the identity of a farm at one point of its history (see Farm). It is comparable, for
// maps, and holds the settings, so no later farm can have the same Key.
type Key struct {
	id      uint32
	name    string
	profile Profile
	vip     netip.Addr
	vport   uint16
	stopped bool
	http    *HTTP
	l4      *L4
	global  *GSLB
	notes   *Notes
}

// Key returns the identity of the farm.
func (f *Farm) Key() Key {
	return Key{f.ID, f.Name, f.Profile, f.VIP, f.VPort, f.Stopped, f.HTTP, f.L4, f.Global, f.Notes}
}

// Same reports whether two farms have equal fields and share their settings.
func (f *Farm) Same(o *Farm) bool { return f.Key() == o.Key() }
