package rules

import (
	"net/netip"
	"strconv"

	"github.com/sluicelb/sluice/sysnet/nft"
)

// Inet is the table of farms that rewrite addresses with connection tracking.
var Inet = nft.Table{Family: "inet", Name: "sluice"}

// Tables are all tables that are ours.
func Tables() []nft.Table { return []nft.Table{Inet, Netdev} }

// Marks of connections: MarkBase | backend ID; MarkMask is what of a mark is ours.
const (
	MarkBase = 0x5c000000
	MarkMask = 0xff000000
	// farmMark | farm ID stands for a farm while its connections are counted.
	farmMark = 0x5cff0000
)

// Mark is the mark of connections to a backend.
func Mark(backend uint32) uint32 { return MarkBase | backend }

func MarkText(backend uint32) string { return nft.Mark(Mark(backend)) }

func inetID(name string) nft.ID { return nft.ID{Table: Inet, Name: name} }

func farmChain(id uint32) string    { return "farm" + number(id) }
func refreshChain(id uint32) string { return "refresh" + number(id) }

func number(id uint32) string { return strconv.FormatUint(uint64(id), 10) }

// family is what differs between IPv4 and IPv6 in the language of nft.
type family struct {
	digit   string // ends the names of its objects
	ip      string // "ip", "ip6"
	address string // type of addresses
	nfproto string
}

var (
	v4 = &family{digit: "4", ip: "ip", address: "ipv4_addr", nfproto: "ipv4"}
	v6 = &family{digit: "6", ip: "ip6", address: "ipv6_addr", nfproto: "ipv6"}
)

// familyOf is the family of an address; that of IPv4 in IPv6 is IPv4.
func familyOf(a netip.Addr) *family {
	if a.Is6() && !a.Is4In6() {
		return v6
	}
	return v4
}
