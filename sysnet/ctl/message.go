package ctl

import (
	"encoding/json"
	"net/netip"
	"strings"
)

// Op is the operation of a request.
type Op string

// Operations on sockets. Parts add more.
const (
	OpOpen  Op = "open"
	OpClose Op = "close"
	OpList  Op = "list"
	// OpProbe checks whether an address could be opened, and opens nothing.
	OpProbe Op = "probe"
)

// Limits of the contract.
const (
	// MaxCount is the maximum number of sockets per address, one per event loop.
	MaxCount = 64
	// maxRequest bounds a request in bytes. A request about sockets has less than 300.
	maxRequest = 4 << 10
	// maxReply bounds a reply in bytes. The longest one is the list of all keys.
	maxReply = 64 << 10
	// maxListed is the maximum number of keys per list reply (up to 56 bytes each).
	maxListed = 1000
	// maxKeys bounds the addresses that netd holds open, one per virtual port.
	maxKeys = 1 << 13
)

// Request is one message from mgmt to netd. Address, Key and Network belong to open,
// adopt, close and probe; Count to open and adopt; From to list; Body to operations of
// parts.
type Request struct {
	Op Op `json:"op"`
	// Key is always KeyOf(Network, Address). All three are sent so that netd can check
	// them. Network is "tcp" or "udp".
	Key     string `json:"key,omitempty"`
	Network string `json:"network,omitempty"`
	// Address is "ip:port" with a port in 1 … 65535. Zones and IPv4-mapped addresses are
	// rejected.
	Address string `json:"address,omitempty"`
	// Count is 1 … MaxCount.
	Count int `json:"count,omitempty"`
	// From selects the keys that sort after it; empty starts at the first.
	From string `json:"from,omitempty"`
	// Body is the argument of a part, which validates it.
	Body json.RawMessage `json:"body,omitempty"`
}

// Reply is one message from netd to mgmt, with opened sockets attached.
type Reply struct {
	Code  Code     `json:"code,omitempty"`
	Error string   `json:"error,omitempty"`
	Keys  []string `json:"keys,omitempty"`
	// More is true if the list is incomplete; the next request continues after its last
	// key.
	More bool `json:"more,omitempty"`
	// Body is the result of a part. If Sealed is true, the result is in the attached
	// memory instead.
	Body   json.RawMessage `json:"body,omitempty"`
	Sealed bool            `json:"sealed,omitempty"`
	made   bool            // the files belong to this reply only and are closed after sending
}

// KeyTCP returns the key of the TCP listeners of an address: "tcp/192.0.2.1:80",
// "tcp/[2001:db8::1]:80".
func KeyTCP(addr netip.AddrPort) string { return KeyOf("tcp", addr) }

// KeyUDP returns the key of the UDP sockets of an address: "udp/192.0.2.1:53".
func KeyUDP(addr netip.AddrPort) string { return KeyOf("udp", addr) }

// KeyOf returns the key of the sockets of a network ("tcp" or "udp") and address.
func KeyOf(network string, addr netip.AddrPort) string { return network + "/" + addr.String() }

// ParseKey is the inverse of KeyOf.
func ParseKey(key string) (network string, addr netip.AddrPort, ok bool) {
	network, text, _ := strings.Cut(key, "/")
	addr, err := netip.ParseAddrPort(text)
	return network, addr, err == nil && known(network) && key == KeyOf(network, addr)
}

func known(network string) bool { return network == "tcp" || network == "udp" }

// parseRequest decodes and validates one request. Every error is an *Error with
// CodeInvalid. addr is the zero value for list and for operations of parts.
func parseRequest(b []byte) (Request, netip.AddrPort, error) {
	var r Request
	if len(b) > maxRequest {
		return r, netip.AddrPort{}, rejection(CodeInvalid, "request of %d bytes: at most %d are allowed", len(b), maxRequest)
	}
	if err := Strict(b, &r); err != nil {
		return r, netip.AddrPort{}, err
	}
	addr, err := r.check()
	return r, addr, err
}

func (r *Request) check() (netip.AddrPort, error) {
	var none netip.AddrPort
	if len(r.Body) > 0 {
		if r.Key != "" || r.Network != "" || r.Address != "" || r.Count != 0 || r.From != "" || r.socket() {
			return none, rejection(CodeInvalid, "operation %q takes either a body or the fields of a socket", r.Op)
		}
		return none, nil
	}
	switch r.Op {
	case OpList:
		if r.Key != "" || r.Network != "" || r.Address != "" || r.Count != 0 {
			return none, rejection(CodeInvalid, "list takes no address")
		}
		return none, nil
	case OpOpen, OpAdopt:
		if r.Count < 1 || r.Count > MaxCount {
			return none, rejection(CodeInvalid, "count %d: 1 to %d are allowed", r.Count, MaxCount)
		}
	case OpClose, OpProbe:
		if r.Count != 0 {
			return none, rejection(CodeInvalid, "%s takes no count", r.Op)
		}
	default:
		return none, rejection(CodeInvalid, "operation %q: open, adopt, close, list and probe are allowed", r.Op)
	}
	if r.From != "" {
		return none, rejection(CodeInvalid, "%s takes no starting key", r.Op)
	}
	return r.address()
}

// socket reports whether the operation is one on sockets.
func (r *Request) socket() bool {
	return r.Op == OpOpen || r.Op == OpClose || r.Op == OpList || r.Op == OpAdopt || r.Op == OpProbe
}

func (r *Request) address() (netip.AddrPort, error) {
	if !known(r.Network) {
		return netip.AddrPort{}, rejection(CodeInvalid, "network %q: tcp and udp are allowed", r.Network)
	}
	addr, err := netip.ParseAddrPort(r.Address)
	if err != nil {
		return netip.AddrPort{}, rejection(CodeInvalid, "address %q: an IP address and a port are expected", r.Address)
	}
	ip := addr.Addr()
	if addr.Port() == 0 || ip.Zone() != "" || ip.Is4In6() || ip.IsMulticast() {
		return netip.AddrPort{}, rejection(CodeInvalid, "address %q: a unicast address without zone and a port from 1 on are expected", r.Address)
	}
	if r.Key != KeyOf(r.Network, addr) {
		return netip.AddrPort{}, rejection(CodeInvalid, "key %q does not belong to the address %s", r.Key, addr)
	}
	return addr, nil
}
