package rules

import (
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/icmp"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// # Retries of dropped packets
//
// A first packet that missedN drops has been counted for a backend in @over. The kernel
// removes that entry, whose connection does not exist, when @over is next evaluated for
// the backend, or within about a second (nft_rhash_gc). The client repeats the packet
// after about a second, too. If the entry is still there when the connection is accepted
// by another backend, it becomes valid and occupies the first backend for as long as the
// connection lives.
//
// Therefore missedN remembers the backend by the client's address and port (@dropped). A
// packet of that client evaluates @over for that backend once more, before its connection
// exists: the kernel then removes entries without a connection. It would also add the
// packet itself, so meanwhile the packet has a protocol that nobody uses. That entry never
// gets a connection either, and goes the next time.
//
//	raw ──► retries ──► retryF: in @dropped? ──► uncountF: as protocol 253, evaluate @over, restore

const (
	// dropTime is how long the retry of a packet that was dropped is awaited, in seconds.
	// TCP repeats a SYN after 1 s and again after 1 to 2 s.
	dropTime = 10
	// unusedProtocol is a protocol for experiments (RFC 3692), which no farm carries.
	unusedProtocol = 253
)

// retriers are the protocols with ports, and what matches the packets of each that may
// begin a connection.
var retriers = []struct {
	transport farm.L4Protocol
	number    int
	first     string
}{
	{farm.L4TCP, icmp.TCP, " tcp flags & (syn | ack) == syn"},
	{farm.L4UDP, icmp.UDP, ""},
	{farm.L4SCTP, icmp.SCTP, ""},
}

// client is the hash of the address and port of a packet's sender. A collision costs an
// evaluation of @over.
func (f *family) client() string { return "jhash " + f.ip + " saddr . th sport " + hashes }

// next is the field of the header that holds the protocol of the payload.
func (f *family) next() string {
	if f == v6 {
		return "ip6 nexthdr"
	}
	return "ip protocol"
}

// rememberDrop is the rule that remembers the backend for which a packet was counted.
// It jumps to a chain of its own because a rule ends where an update fails.
func (b *bounded) rememberDrop() string {
	dropped, chain := inetID("dropped"), "drop"+b.family.digit
	b.rules.SetOf(dropped, func() *nft.Set {
		return &nft.Set{Type: "mark", Data: "mark", Options: "size 65535; flags dynamic,timeout; ", Learned: true}
	})
	b.rules.ChainOf(inetID(chain), func() *nft.Chain {
		return &nft.Chain{Rules: []string{fmt.Sprintf("update @dropped { %s timeout %ds : ct mark }", b.family.client(), dropTime)}}
	})
	b.used.retry(b.family, b.l4.Protocol)
	return "jump " + chain
}

// retry notes that packets of the family and protocol may be retries.
func (f *features) retry(of *family, p farm.L4Protocol) {
	if f.retries == nil {
		f.retries = map[*family]map[farm.L4Protocol]bool{}
	}
	if f.retries[of] == nil {
		f.retries[of] = map[farm.L4Protocol]bool{}
	}
	for _, t := range p.Transports() {
		f.retries[of][t] = true
	}
}

// retries adds the chains that recognise retries before connections are tracked. Packets
// that already have a mark are left alone, because the lookup needs it.
func (c *compiler) retries() {
	var rules []string
	for _, f := range []*family{v4, v6} {
		if c.used.retries[f] == nil {
			continue
		}
		uncount := []string{
			fmt.Sprintf("delete @dropped { %s : meta mark }", f.client()),
			fmt.Sprintf("%s set %d", f.next(), unusedProtocol),
			"meta mark @over",
		}
		for _, r := range retriers {
			if c.used.retries[f][r.transport] {
				rules = append(rules, fmt.Sprintf("meta mark 0 %s %d%s jump retry%s", f.next(), r.number, r.first, f.digit))
				uncount = append(uncount, fmt.Sprintf("meta l4proto %s %s set %d", r.transport, f.next(), r.number))
			}
		}
		c.rules.ChainOf(inetID("retry"+f.digit), func() *nft.Chain {
			return &nft.Chain{Rules: []string{"meta mark set " + f.client(), "meta mark set meta mark map @dropped goto uncount" + f.digit, "meta mark set 0"}}
		})
		c.rules.ChainOf(inetID("uncount"+f.digit), func() *nft.Chain { return &nft.Chain{Rules: append(uncount, "meta mark set 0")} })
	}
	for name, hook := range map[string]string{"retries": "prerouting", "localretries": "output"} {
		if len(rules) > 0 {
			c.rules.ChainOf(inetID(name), func() *nft.Chain {
				return &nft.Chain{Hook: "type filter hook " + hook + " priority -300; policy accept;", Rules: rules}
			})
		}
	}
}
