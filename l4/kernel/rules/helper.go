package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// helper is a connection tracking helper of the kernel. It reads the stream of one transport
// and expects the connections named there.
type helper struct {
	name      string // registered name
	transport farm.L4Protocol
	rewriter  string // module that rewrites addresses in the stream, or empty
}

// helperTable holds the helpers of protocols that need some.
var helperTable = map[farm.L4Protocol][]helper{
	farm.L4FTP:       {{"ftp", farm.L4TCP, "nf_nat_ftp"}},
	farm.L4TFTP:      {{"tftp", farm.L4UDP, "nf_nat_tftp"}},
	farm.L4SIP:       {{"sip", farm.L4TCP, "nf_nat_sip"}, {"sip", farm.L4UDP, "nf_nat_sip"}},
	farm.L4H323:      {{"Q.931", farm.L4TCP, "nf_nat_h323"}, {"RAS", farm.L4UDP, "nf_nat_h323"}},
	farm.L4PPTP:      {{"pptp", farm.L4TCP, "nf_nat_pptp"}},
	farm.L4SNMP:      {{"snmp", farm.L4UDP, ""}},
	farm.L4Amanda:    {{"amanda", farm.L4UDP, "nf_nat_amanda"}},
	farm.L4IRC:       {{"irc", farm.L4TCP, "nf_nat_irc"}},
	farm.L4NetBIOSNS: {{"netbios-ns", farm.L4UDP, ""}},
	farm.L4SANE:      {{"sane", farm.L4TCP, ""}},
}

// Rewriters returns the kernel modules that rewrite addresses in a protocol's streams. The
// kernel loads a helper when a rule names it, but not these.
func Rewriters(p farm.L4Protocol) (modules []string) {
	for _, h := range helperTable[p] {
		if h.rewriter != "" && !slices.Contains(modules, h.rewriter) {
			modules = append(modules, h.rewriter)
		}
	}
	return modules
}

// helpers adds the helper objects of the farm's protocol and returns the rules that assign
// them. They come before the destination is rewritten, so that the kernel reserves room for
// changes of the stream. The owner of an object is the first farm that needs it: a kernel
// without the helper refuses that farm, then the next.
func (g *compiledFarm) helpers() (out []string) {
	list := helperTable[g.l4.Protocol]
	for _, h := range list {
		name := strings.NewReplacer(".", "", "-", "").Replace(strings.ToLower(h.name)) + "_" + string(h.transport)
		g.compiler.rules.AddHelper(inetID(name), nft.Helper{Text: fmt.Sprintf("type %q protocol %s;", h.name, h.transport), Owner: g.farm.ID})
		rule := fmt.Sprintf("ct helper set %q", name)
		if len(list) > 1 {
			rule = "meta l4proto " + string(h.transport) + " " + rule
		}
		out = append(out, rule)
	}
	return out
}
