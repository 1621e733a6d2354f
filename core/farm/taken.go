package farm

import "slices"

// Transports are the transport protocols the farm takes packets of.
func (f *Farm) Transports() []L4Protocol {
	if f.L4 == nil {
		return []L4Protocol{L4TCP}
	}
	return f.L4.Protocol.Transports()
}

// VPorts are the virtual ports the farm takes, ascending.
func (f *Farm) VPorts() []PortRange {
	switch {
	case f.L4 == nil:
		return []PortRange{{First: f.VPort, Last: f.VPort}}
	case len(f.L4.Ports) == 0:
		return []PortRange{{First: 1, Last: 65535}}
	}
	return f.L4.Ports
}

// Takes reports whether packets of a transport protocol to a port of its VIP
// are the farm's.
func (f *Farm) Takes(transport L4Protocol, port uint16) bool {
	return slices.Contains(f.Transports(), transport) &&
		slices.ContainsFunc(f.VPorts(), func(p PortRange) bool { return p.First <= port && port <= p.Last })
}
