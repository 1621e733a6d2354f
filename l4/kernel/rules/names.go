package rules

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/sluicelb/sluice/sysnet/claim"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Inet returns the table of farms that rewrite addresses by connection tracking.
func Inet() nft.Table { return nft.Table{Family: "inet", Name: claim.Own().Table()} }

// Tables returns all tables of this instance.
func Tables() []nft.Table { return []nft.Table{Inet(), Netdev()} }

// Mark returns the mark of connections to a backend.
func Mark(backend uint32) uint32 { return claim.Own().Mark() | backend }

// MarkText returns Mark in nft syntax.
func MarkText(backend uint32) string { return nft.Mark(Mark(backend)) }

// LimitOf returns the ID of a farm's connection limit, in Counted and in the sets of limits. No
// backend has this ID.
func LimitOf(farm uint32) uint32 { return 0xf0000 | farm }

// farmMark returns a mark used to count a farm's connections.
func farmMark(farm uint32) uint32 { return Mark(LimitOf(farm)) }

// isOurs returns a comparison that tests whether a mark belongs to this instance. mark is
// "ct mark" or "meta mark"; op is "==" or "!=".
func isOurs(mark, op string) string {
	return fmt.Sprintf("%s & %#x %s %#x", mark, claim.OwnMask, op, claim.Own().Mark())
}

func inetID(name string) nft.ID { return nft.ID{Table: Inet(), Name: name} }

func farmChain(id uint32) string    { return "farm" + number(id) }
func refreshChain(id uint32) string { return "refresh" + number(id) }

func number(id uint32) string { return strconv.FormatUint(uint64(id), 10) }

// family holds the differences between IPv4 and IPv6 in nft syntax.
type family struct {
	digit   string // suffix of object names
	ip      string // "ip", "ip6"
	address string // address type
	nfproto string
}

var (
	v4 = &family{digit: "4", ip: "ip", address: "ipv4_addr", nfproto: "ipv4"}
	v6 = &family{digit: "6", ip: "ip6", address: "ipv6_addr", nfproto: "ipv6"}
)

// familyOf returns the family of an address; IPv4 in IPv6 is IPv4.
func familyOf(a netip.Addr) *family {
	if a.Is6() && !a.Is4In6() {
		return v6
	}
	return v4
}
