package farm

import (
	"fmt"
	"slices"
)

// MaxUserspacePorts is how many virtual ports a farm in userspace may have,
// those of TCP and of UDP counted apart: each takes a socket per loop.
const MaxUserspacePorts = 32

// Carrier tells which data path carries an l4xnat farm, DataPathUserspace or
// DataPathKernel, and why. It is never DataPathAuto. A farm that asks for a path
// that cannot carry it gets the kernel; mgmt/validate refuses such farms with
// the reason of NotUserspace or NotKernel.
func (f *Farm) Carrier() (path DataPath, why string) {
	l := f.L4
	if reason := l.NotUserspace(); reason != "" {
		return DataPathKernel, reason
	}
	if l.DataPath == DataPathUserspace {
		return DataPathUserspace, "datapath says so"
	}
	if reason := f.NotKernel(); reason != "" {
		return DataPathUserspace, reason
	}
	switch {
	case l.DataPath == DataPathKernel:
		return DataPathKernel, "datapath says so"
	case l.NAT == NATTarget:
		return DataPathKernel, "nattype dnat keeps the client's address, which costs least in the kernel"
	}
	return DataPathUserspace, fmt.Sprintf("protocol %s with nattype %s on port %s can be served completely", l.Protocol, l.NAT, l.PortsText())
}

// InUserspace reports whether the farm is an l4xnat farm the engine carries.
func (f *Farm) InUserspace() bool {
	if f.L4 == nil {
		return false
	}
	path, _ := f.Carrier()
	return path == DataPathUserspace
}

// InKernel reports whether the farm is an l4xnat farm packet filter rules carry.
func (f *Farm) InKernel() bool { return f.L4 != nil && !f.InUserspace() }

// Transparent reports whether the engine carries the farm and its backends are
// to see the addresses of clients, as with NATTarget.
func (f *Farm) Transparent() bool { return f.InUserspace() && f.L4.NAT == NATTarget }

// marks reports whether packets to some backend have a mark.
func (l *L4) marks() bool {
	return l.Mark != 0 || slices.ContainsFunc(l.Backends, func(b Backend) bool { return b.Mark != 0 })
}

// Datagrams reports whether the protocol is UDP, or UDP beside TCP.
func (l *L4) Datagrams() bool { return l.Protocol == L4UDP || l.Protocol == L4TCPUDP }

// MostPorts is how many virtual ports userspace opens for the farm's protocol.
func (l *L4) MostPorts() int { return MaxUserspacePorts / len(l.Protocol.Transports()) }

// NotUserspace says why the engine cannot carry the farm; empty when it can.
func (l *L4) NotUserspace() string { why, _ := l.NeedsKernel(); return why }

// NeedsKernel says why the engine cannot carry the farm and what to change so that
// it can; empty when it can.
func (l *L4) NeedsKernel() (why, instead string) {
	switch n := l.PortCount(); {
	case l.Protocol != L4TCP && !l.Datagrams():
		return fmt.Sprintf("protocol %s is carried by the kernel", l.Protocol), "set protocol tcp, udp or tcp_udp"
	case l.NAT != NATMasquerade && l.NAT != NATTarget:
		return fmt.Sprintf("nattype %s works on packets, which the kernel carries", l.NAT), "set nattype nat or dnat"
	case n == 0:
		return "all ports cannot be listened on", "list the ports"
	case n > l.MostPorts():
		why = fmt.Sprintf("%d virtual ports are more than the %d sockets userspace opens for a farm", n, l.MostPorts())
		if l.Protocol == L4TCPUDP {
			why = fmt.Sprintf("%d virtual ports are more than the %d that userspace listens on by tcp and udp", n, l.MostPorts())
		}
		return why, fmt.Sprintf("list at most %d ports", l.MostPorts())
	case l.NAT == NATTarget && l.Datagrams():
		return fmt.Sprintf("nattype dnat with protocol %s is carried by the kernel", l.Protocol), "set nattype nat"
	case l.NAT == NATTarget && l.marks():
		return "connections with the client's address and a mark are made by the kernel", "take the marks away"
	case l.Persist == L4PersistMAC:
		return "persistence srcmac needs packets, which the kernel sees", "set another persistence"
	}
	return "", ""
}

// NotKernel says why packet filter rules cannot carry the farm; empty when they
// can. The farm has profile l4xnat.
func (f *Farm) NotKernel() string {
	if reason := f.L4.NotKernel(); reason != "" {
		return reason
	}
	for i := range f.L4.Backends {
		if b := &f.L4.Backends[i]; b.Addr.IsValid() && b.Addr.Is4() != f.VIP.Is4() {
			return fmt.Sprintf("backend %s is of another IP version than the vip, and packets keep theirs", b.Addr)
		}
	}
	return ""
}

// NotKernel says which settings packet filter rules cannot carry; empty when
// there are none.
func (l *L4) NotKernel() string { _, why := l.NeedsUserspace(); return why }

// NeedsUserspace is the field, of the farm or of a backend, because of which packet
// filter rules cannot carry the farm, and why; empty when they can.
func (l *L4) NeedsUserspace() (field, why string) {
	const proxy = "the PROXY protocol is spoken in userspace"
	switch {
	case l.ProxyIn != "" && l.ProxyIn != ProxyInOff:
		return "proxyprotocol_in", proxy
	case l.ProxyOut != "" && l.ProxyOut != ProxyOutOff:
		return "proxyprotocol_out", proxy
	case l.routesNames():
		return "server_names", "server names are read in userspace"
	case l.QUIC:
		return "quic", "connection ids of QUIC are read in userspace"
	case l.Responses != nil:
		return "responses", "answers are counted in userspace"
	}
	return "", ""
}

// routesNames reports whether some backend takes only some server names.
func (l *L4) routesNames() bool {
	for i := range l.Backends {
		if len(l.Backends[i].ServerNames) > 0 {
			return true
		}
	}
	return false
}
