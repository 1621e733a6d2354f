package rules

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// helper is a connection tracking helper of the kernel: it reads what one
// transport carries of a protocol and expects the connections named there.
type helper struct {
	name      string // as it registers itself
	Transport farm.L4Protocol
	Modules   []string // that know it, the one that rewrites addresses in it last
}

// Helpers of the protocols that need some.
var Helpers = map[farm.L4Protocol][]helper{
	farm.L4FTP:       {{"ftp", farm.L4TCP, []string{"nf_conntrack_ftp", "nf_nat_ftp"}}},
	farm.L4TFTP:      {{"tftp", farm.L4UDP, []string{"nf_conntrack_tftp", "nf_nat_tftp"}}},
	farm.L4SIP:       {{"sip", farm.L4TCP, []string{"nf_conntrack_sip", "nf_nat_sip"}}, {"sip", farm.L4UDP, []string{"nf_conntrack_sip", "nf_nat_sip"}}},
	farm.L4H323:      {{"Q.931", farm.L4TCP, []string{"nf_conntrack_h323", "nf_nat_h323"}}, {"RAS", farm.L4UDP, []string{"nf_conntrack_h323", "nf_nat_h323"}}},
	farm.L4PPTP:      {{"pptp", farm.L4TCP, []string{"nf_conntrack_pptp", "nf_nat_pptp"}}},
	farm.L4SNMP:      {{"snmp", farm.L4UDP, []string{"nf_conntrack_snmp"}}},
	farm.L4Amanda:    {{"amanda", farm.L4UDP, []string{"nf_conntrack_amanda", "nf_nat_amanda"}}},
	farm.L4IRC:       {{"irc", farm.L4TCP, []string{"nf_conntrack_irc", "nf_nat_irc"}}},
	farm.L4NetBIOSNS: {{"netbios-ns", farm.L4UDP, []string{"nf_conntrack_netbios_ns"}}},
	farm.L4SANE:      {{"sane", farm.L4TCP, []string{"nf_conntrack_sane"}}},
}

// Helpers adds the helper objects of the farm's protocol and returns the rules
// that assign them. They come before the destination is rewritten: the kernel
// then makes room for what the helper changes in the stream. The owner of an
// object is the first farm that needs it: a kernel without the helper refuses
// that one, then the next.
func (g *Group) helpers() (out []string) {
	list := Helpers[g.L4.Protocol]
	for _, h := range list {
		name := strings.NewReplacer(".", "", "-", "").Replace(strings.ToLower(h.name)) + "_" + string(h.Transport)
		g.compiler.rules.AddHelper(InetID(name), nft.Helper{Text: fmt.Sprintf("type %q protocol %s;", h.name, h.Transport), Owner: g.Farm.ID})
		rule := fmt.Sprintf("ct helper set %q", name)
		if len(list) > 1 {
			rule = "meta l4proto " + string(h.Transport) + " " + rule
		}
		out = append(out, rule)
	}
	return out
}
