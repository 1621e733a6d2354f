package l4farm

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// checkFarm checks the rules of an l4xnat farm. Contradictions and impossible combinations
// are rejected with an alternative. Settings merely without effect are warnings (see
// warnings).
func checkFarm(f *farm.Farm, local []netip.Prefix, yield func(field.Error) bool) bool {
	path := profile.FarmPath(f.Name)
	if f.L4 == nil {
		return yield(field.Error{Path: path, Field: "profile", Message: "profile l4xnat needs its settings; they are missing"})
	}
	if !Document.Verify(path, f, nil, yield) {
		return false
	}
	for _, check := range []func(*farm.Farm) (fieldName, problem string){checkPorts, checkSIP, checkAddress,
		checkAlgorithm,
		checkSource, checkMark, checkDataPath} {
		if fieldName, problem := check(f); problem != "" && !yield(field.Error{Path: path, Field: fieldName, Message: fieldName + " " + problem}) {
			return false
		}
	}
	return checkBackends(f, local, yield)
}

// checkPorts checks the form of virtual ports.
func checkPorts(f *farm.Farm) (fieldName, problem string) {
	l := f.L4
	text := l.PortsText()
	switch {
	case profile.CanonPorts(text) != text:
		return "vport", fmt.Sprintf("must be ascending, write %s as %s", field.Show(text), field.Show(profile.CanonPorts(text)))
	case (l.Protocol == farm.L4All) != (len(l.Ports) == 0):
		return "vport", fmt.Sprintf("must be * with protocol all and with no other, got %s with protocol %s", text, l.Protocol)
	}
	switch l.Protocol {
	case farm.L4FTP, farm.L4TFTP:
		if len(l.Ports) > 2 || strings.Contains(text, ":") {
			return "vport", fmt.Sprintf("must be one port or a list of two with protocol %s, got %s", l.Protocol, field.Show(text))
		}
	}
	return "", ""
}

const sipNeedsNAT = "must be nat with protocol sip: answers must come through the appliance, which rewrites the addresses in them"

func checkSIP(f *farm.Farm) (field, problem string) {
	if f.L4.Protocol == farm.L4SIP && f.L4.NAT != farm.NATMasquerade {
		return "nattype", fmt.Sprintf("%s, got %s", sipNeedsNAT, f.L4.NAT)
	}
	return "", ""
}

// oldHelpers are the kernel helpers without IPv6 support.
var oldHelpers = []farm.L4Protocol{farm.L4PPTP, farm.L4IRC, farm.L4SNMP, farm.L4NetBIOSNS}

// checkAddress checks the VIP against the protocol and NAT type.
func checkAddress(f *farm.Farm) (field, problem string) {
	l := f.L4
	switch {
	case !f.VIP.IsValid():
		return "", ""
	case f.VIP.Is6() && slices.Contains(oldHelpers, l.Protocol):
		return "protocol", fmt.Sprintf("%s works with IPv4 only, the kernel's helper reads no IPv6, and vip is %s; use an IPv4 vip, or protocol %s for what needs no helper",
			l.Protocol, f.VIP, l.Protocol.Transports()[0])
	case !f.VIP.IsUnspecified():
		return "", ""
	case l.Protocol == farm.L4All:
		return "vip", fmt.Sprintf("must be one address with protocol all, got %s: every packet for this machine would be taken, those of its management too", f.VIP)
	case l.NAT == farm.NATDirect:
		return "vip", fmt.Sprintf("must be one address with nattype dsr, got %s: backends need the same address to answer from", f.VIP)
	case l.NAT == farm.NATStateless:
		return "vip", fmt.Sprintf("must be one address with nattype stateless_dnat, got %s: it is what answers come from, and nobody remembers which one was asked", f.VIP)
	}
	return "", ""
}

// untracked reports whether the NAT type works without connection tracking.
func untracked(n farm.NATType) bool { return n == farm.NATDirect || n == farm.NATStateless }

func checkAlgorithm(f *farm.Farm) (field, problem string) {
	if f.L4.Algorithm == farm.L4LeastConn && untracked(f.L4.NAT) {
		return "algorithm", fmt.Sprintf("must not be leastconn with nattype %s: it counts tracked connections, and there are none; use weight, roundrobin or a hash, or nattype nat or dnat", f.L4.NAT)
	}
	return "", ""
}

func checkSource(f *farm.Farm) (field, problem string) {
	source := f.L4.Source
	if !source.IsValid() {
		return "", ""
	}
	if f.VIP.IsValid() && source.Is4() != f.VIP.Is4() {
		return "source", fmt.Sprintf("must be of the same IP version as the vip (%s), got %s", f.VIP, source)
	}
	if problem := format.Server(source, nil); problem != "" {
		return "source", fmt.Sprintf("must be the address of one machine, got %s: %s", source, problem)
	}
	return "", ""
}

func checkMark(f *farm.Farm) (field, problem string) { return "mark", profile.OwnMark(f.L4.Mark) }

// checkDataPath checks that the requested data path can serve the farm.
func checkDataPath(f *farm.Farm) (field, problem string) {
	l := f.L4
	noUser, toUser := l.NeedsKernel()
	by, noKernel := l.NeedsUserspace()
	switch {
	case l.DataPath == farm.DataPathUserspace && noUser != "":
		return "datapath", fmt.Sprintf("must not be userspace: %s; set datapath auto or kernel, or %s", noUser, toUser)
	case l.DataPath == farm.DataPathKernel && noKernel != "":
		return "datapath", fmt.Sprintf("must not be kernel: %s; set datapath auto or userspace, or %s", noKernel, toKernel(by))
	case noUser != "" && noKernel != "":
		return by, fmt.Sprintf("cannot work: %s, and this farm needs the kernel because %s; %s, or %s", noKernel, noUser, toKernel(by), toUser)
	}
	return "", ""
}

// toKernel explains how to change a field that requires userspace.
func toKernel(field string) string {
	if f := Document.Find(field); f != nil {
		return "set " + field + " " + f.Reset()
	}
	return "remove the " + field + " of the backends"
}

// oneVersion explains why backends must have the VIP's IP version, and how to lift that
// restriction.
func oneVersion(l *farm.L4) string {
	switch noUser, toUser := l.NeedsKernel(); {
	case l.NAT == farm.NATTarget:
		return "with nattype dnat backends see the client's address, which has the version of the vip; set nattype nat"
	case noUser == "":
		return "datapath is kernel, where packets keep their version; set datapath auto"
	case untracked(l.NAT):
		return noUser + ", where packets keep their version; set nattype nat"
	default:
		return fmt.Sprintf("%s, where packets keep their version; %s", noUser, toUser)
	}
}
