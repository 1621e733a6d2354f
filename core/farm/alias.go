package farm

import (
	"net/netip"
	"slices"
)

// Aliases holds readable names of addresses and interfaces. They do not affect traffic.
type Aliases struct {
	// IDs are addresses in Backends and interface names in Interfaces.
	Backends   []Alias `json:"backends,omitempty"`
	Interfaces []Alias `json:"interfaces,omitempty"`
}

// MaxAliases limits each of the lists.
const MaxAliases = 1024

// Alias is the readable name of an address or interface.
type Alias struct {
	ID    string `json:"id"`
	Alias string `json:"alias"`
}

// String returns the alias in document syntax: "10.0.0.11=db-1".
func (a Alias) String() string { return a.ID + "=" + a.Alias }

// AliasOf returns the alias of an address or interface, or an empty string.
func AliasOf(list []Alias, id string) string {
	if i := AliasAt(list, id); i >= 0 {
		return list[i].Alias
	}
	return ""
}

// AliasAt returns the position of the alias of an ID, or -1.
func AliasAt(list []Alias, id string) int {
	return slices.IndexFunc(list, func(a Alias) bool { return a.ID == id })
}

// Called returns the alias of a backend: its own, or that of its address.
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
