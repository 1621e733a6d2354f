package farm

import "net/netip"

// Listener is an address the engine takes connections or datagrams on.
type Listener struct {
	// Transport is L4TCP or L4UDP.
	Transport L4Protocol
	Addr      netip.AddrPort
}

// Key names the listener, as netd, mgmt and engine do: "tcp/192.0.2.1:80".
func (l Listener) Key() string { return string(l.Transport) + "/" + l.Addr.String() }

// Listeners are those the engine needs to carry the farm: none for one in the
// kernel, one for each transport of each virtual port otherwise. A farm that is stopped needs
// none either, which is for the caller to know.
func (f *Farm) Listeners() []Listener {
	switch {
	case f.L4 == nil && f.HTTP != nil:
		return []Listener{{L4TCP, f.AddrPort()}}
	case !f.InUserspace():
		return nil
	}
	var list []Listener
	for _, r := range f.L4.Ports {
		for port := int(r.First); port <= int(r.Last); port++ {
			for _, t := range f.L4.Protocol.Transports() {
				list = append(list, Listener{t, netip.AddrPortFrom(f.VIP, uint16(port))})
			}
		}
	}
	return list
}
