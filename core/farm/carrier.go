package farm

import (
	"fmt"
	"slices"
)

// MaxUserspacePorts is the maximum number of virtual ports of a farm in userspace. TCP and
// UDP ports count separately, because each needs a socket per loop.
const MaxUserspacePorts = 32

// Carrier returns the data path of an l4xnat farm, DataPathUserspace or DataPathKernel, with
// the reason. It never returns DataPathAuto. A farm set to a path that cannot carry it gets
// the kernel; mgmt/validate refuses such farms with the reason of NotUserspace or NotKernel.
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

// InUserspace reports whether the farm is an l4xnat farm carried by the engine.
func (f *Farm) InUserspace() bool {
	if f.L4 == nil {
		return false
	}
	path, _ := f.Carrier()
	return path == DataPathUserspace
}

// InKernel reports whether the farm is an l4xnat farm carried by packet filter rules.
func (f *Farm) InKernel() bool { return f.L4 != nil && !f.InUserspace() }

// Transparent reports whether the engine carries the farm and backends see client addresses,
// as with NATTarget.
func (f *Farm) Transparent() bool { return f.InUserspace() && f.L4.NAT == NATTarget }

// marks reports whether packets to some backend have a mark.
func (l *L4) marks() bool {
	return l.Mark != 0 || slices.ContainsFunc(l.Backends, func(b Backend) bool { return b.Mark != 0 })
}

// Datagrams reports whether the protocol is UDP, or UDP beside TCP.
func (l *L4) Datagrams() bool { return l.Protocol == L4UDP || l.Protocol == L4TCPUDP }

// MostPorts returns the maximum number of virtual ports in userspace for the farm's
// protocol.
func (l *L4) MostPorts() int { return MaxUserspacePorts / len(l.Protocol.Transports()) }

// NotUserspace returns why the engine cannot carry the farm, or an empty string.
func (l *L4) NotUserspace() string { why, _ := l.NeedsKernel(); return why }

// NeedsKernel returns why the engine cannot carry the farm and the change that would allow
// it, or empty strings.
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

// NotKernel returns why packet filter rules cannot carry the farm, which has profile l4xnat,
// or an empty string.
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

// NotKernel returns why packet filter rules cannot carry these settings, or an empty string.
func (l *L4) NotKernel() string { _, why := l.NeedsUserspace(); return why }

// NeedsUserspace returns the field of the farm or a backend that packet filter rules do not
// support, with the reason, or empty strings.
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

// routesNames reports whether some backend has server names.
func (l *L4) routesNames() bool {
	for i := range l.Backends {
		if len(l.Backends[i].ServerNames) > 0 {
			return true
		}
	}
	return false
}
