package numbers

import (
	"cmp"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/sysnet/usage"
)

// LinkUse is a network interface with its traffic since it came up, in MB.
type LinkUse struct {
	InterfaceUse
	Status     string   `json:"status" enum:"up,down" doc:"up if it is enabled and has a carrier"`
	Configured string   `json:"configured" enum:"up,down" doc:"true if enabled"`
	Actual     string   `json:"actual" enum:"up,down" doc:"true if the link has a carrier"`
	MAC        string   `json:"mac" doc:"Hardware address"`
	IP         string   `json:"ip" doc:"First address, IPv4 before IPv6; empty for none"`
	VLAN       []string `json:"vlan" doc:"VLANs on the interface"`
	Virtual    []string `json:"virtual" doc:"Virtual interfaces on the interface"`
}

// BondUse is a bond with its members.
type BondUse struct {
	LinkUse
	Slaves []string `json:"slaves" doc:"Member interfaces"`
}

// LinkStatistics lists the interfaces by kind. The name of a VLAN includes its parent.
type LinkStatistics struct {
	NIC  []LinkUse `json:"nic" doc:"Physical interfaces"`
	Bond []BondUse `json:"bond" doc:"Bonded interfaces"`
}

// Link is a network interface of the system.
type Link struct {
	Name    string
	MAC     string
	On, Up  bool // administratively up; with a carrier
	Addrs   []netip.Addr
	Members []string // of a bond; nil for others
}

func (s *Resource) interfaceStatistics(c *rest.Call) (rest.Object[LinkStatistics], error) {
	out := LinkStatistics{NIC: []LinkUse{}, Bond: []BondUse{}}
	if _, err := rest.OneOf(c, "status", []string{upDown(true), upDown(false)}); err != nil {
		return rest.Object[LinkStatistics]{}, err
	}
	carried, links := map[string]usage.Interface{}, s.deps.Links()
	for _, i := range s.deps.Usage().Interfaces {
		carried[i.Name] = i
	}
	for _, l := range links {
		if strings.ContainsAny(l.Name, ".:") {
			continue // on another interface
		}
		i := carried[l.Name]
		use := LinkUse{
			InterfaceUse: InterfaceUse{l.Name, farm.AliasOf(state.Aliases(c).Interfaces, l.Name), megabytes(i.In), megabytes(i.Out)},
			Status:       upDown(l.On && l.Up), Configured: upDown(l.On), Actual: upDown(l.Up), MAC: l.MAC, IP: l.first(), VLAN: []string{}, Virtual: []string{},
		}
		for _, on := range links {
			if strings.HasPrefix(on.Name, l.Name+".") {
				use.VLAN = append(use.VLAN, on.Name)
			}
		}
		if l.Members != nil {
			out.Bond = append(out.Bond, BondUse{use, l.Members})
			continue
		}
		out.NIC = append(out.NIC, use)
	}
	out.NIC, out.Bond = rest.Matching(c, out.NIC), rest.Matching(c, out.Bond)
	return rest.Object[LinkStatistics]{Description: c.Summary(), Params: out}, nil
}

func upDown(up bool) string {
	if up {
		return "up"
	}
	return "down"
}

// first returns the first address, preferring IPv4, and global over link-local addresses.
func (l Link) first() string {
	var v6 string
	for _, a := range l.Addrs {
		if a.Is4() {
			return a.String()
		}
		if !a.IsLinkLocalUnicast() {
			v6 = cmp.Or(v6, a.String())
		}
	}
	return v6
}

// HostLinks returns the interfaces of this machine except loopback.
func HostLinks() (out []Link) {
	all, _ := net.Interfaces() // empty on errors
	for _, i := range all {
		if i.Flags&net.FlagLoopback != 0 {
			continue
		}
		l := Link{Name: i.Name, MAC: i.HardwareAddr.String(), On: i.Flags&net.FlagUp != 0, Up: i.Flags&net.FlagRunning != 0}
		addrs, _ := i.Addrs()
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				l.Addrs = append(l.Addrs, p.Addr().Unmap())
			}
		}
		if raw, err := os.ReadFile("/sys/class/net/" + i.Name + "/bonding/slaves"); err == nil { // the name comes from the kernel
			l.Members = append([]string{}, strings.Fields(string(raw))...)
		}
		out = append(out, l)
	}
	return out
}
