package rules

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Place is where clients reach a farm: an address, a protocol and ports.
type Place struct {
	// Addr is unspecified for every address of its family.
	Addr netip.Addr
	// Protocol is empty for all protocols and ports.
	Protocol farm.L4Protocol
	farm.PortRange
}

// Places returns the places of a farm.
func Places(f *farm.Farm) (out []Place) {
	p := Place{Addr: f.VIP.Unmap(), PortRange: anyPort}
	protocols := Transports(f.L4.Protocol)
	if protocols == nil {
		return []Place{p}
	}
	for _, p.Protocol = range protocols {
		if len(f.L4.Ports) == 0 {
			out = append(out, p)
		}
		for _, p.PortRange = range f.L4.Ports {
			out = append(out, p)
		}
	}
	return out
}

var anyPort = farm.PortRange{First: 1, Last: 65535}

// Overlaps reports whether some packets are for both places.
func (p Place) Overlaps(o Place) bool {
	return p.Addr.Is4() == o.Addr.Is4() && (p.Addr == o.Addr || p.Addr.IsUnspecified() || o.Addr.IsUnspecified()) &&
		(p.Protocol == o.Protocol || p.Protocol == "" || o.Protocol == "") && p.First <= o.Last && o.First <= p.Last
}

// String returns e.g. "tcp 192.0.2.1:80", for messages.
func (p Place) String() string {
	at := p.Addr.String()
	if p.Addr.IsUnspecified() {
		at = "every address of IPv4"
		if p.Addr.Is6() {
			at = "every address of IPv6"
		}
	}
	switch {
	case p.Protocol == "":
		return "everything for " + at
	case p.First == p.Last && !p.Addr.IsUnspecified():
		return fmt.Sprintf("%s %s", p.Protocol, netip.AddrPortFrom(p.Addr, p.First))
	case p.First == p.Last:
		return fmt.Sprintf("%s port %d of %s", p.Protocol, p.First, at)
	}
	return fmt.Sprintf("%s ports %s of %s", p.Protocol, p.PortRange, at)
}

// PlaceSets returns the maps by which packets find their farm in a table of any instance.
func PlaceSets(t nft.Table) (ids []nft.ID) {
	for _, f := range []*family{v4, v6} {
		for _, name := range []string{"ports", "ranges", "all", "localports", "localranges"} {
			ids = append(ids, nft.ID{Table: t, Name: name + f.digit})
		}
	}
	return ids
}

// PlaceOf returns the place of a key in one of PlaceSets, or false if the map of another version
// has other keys.
func PlaceOf(set nft.ID, k nft.Key) (p Place, ok bool) {
	name, size := set.Name[:len(set.Name)-1], 4
	if p.Addr = netip.IPv4Unspecified(); strings.HasSuffix(set.Name, v6.digit) {
		p.Addr, size = netip.IPv6Unspecified(), 16
	}
	first, last := k.First, k.Last
	if !strings.HasPrefix(name, "local") {
		if len(first) < size || len(last) != len(first) {
			return p, false
		}
		p.Addr, _ = netip.AddrFromSlice(first[:size])
		first, last = first[size:], last[size:]
	}
	if name == "all" {
		p.PortRange = anyPort
		return p, len(first) == 0
	}
	if len(first) != 8 || len(last) != 8 {
		return p, false
	}
	p.PortRange = farm.PortRange{First: binary.BigEndian.Uint16(first[4:]), Last: binary.BigEndian.Uint16(last[4:])}
	for _, t := range []farm.L4Protocol{farm.L4TCP, farm.L4UDP, farm.L4SCTP} {
		if nft.ProtocolNumber(string(t)) == first[0] {
			p.Protocol = t
		}
	}
	return p, p.Protocol != ""
}
