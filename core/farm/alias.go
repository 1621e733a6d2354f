package farm

import (
	"net/netip"
	"slices"
)

// Aliases are what people call addresses and interfaces. Traffic does not know them.
type Aliases struct {
	// Backends have addresses as their ID, Interfaces names of network interfaces.
	Backends   []Alias `json:"backends,omitempty"`
	Interfaces []Alias `json:"interfaces,omitempty"`
}

// MaxAliases bounds each of the lists.
const MaxAliases = 1024

// Alias is what people call one address or interface.
type Alias struct {
	ID    string `json:"id"`
	Alias string `json:"alias"`
}

// String is the alias as documents have it: "10.0.0.11=db-1".
func (a Alias) String() string { return a.ID + "=" + a.Alias }

// AliasOf is the alias of an address or interface, empty without one.
func AliasOf(list []Alias, id string) string {
	if i := AliasAt(list, id); i >= 0 {
		return list[i].Alias
	}
	return ""
}

// AliasAt is the position of the alias of an ID, -1 without one.
func AliasAt(list []Alias, id string) int {
	return slices.IndexFunc(list, func(a Alias) bool { return a.ID == id })
}

// Called is what people call a backend: its own alias, or that of its address.
func (a *Aliases) Called(b *Backend) string {
	if b.Alias != "" || len(a.Backends) == 0 {
		return b.Alias
	}
	addr := b.Addr
	if literal, err := netip.ParseAddr(b.Host); err == nil {
		addr = literal
	}
	if !addr.IsValid() {
		return ""
	}
	return AliasOf(a.Backends, addr.String())
}
