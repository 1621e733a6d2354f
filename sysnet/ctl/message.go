package ctl

import (
	"bytes"
	"encoding/json"
	"io"
	"net/netip"
)

// Op names what a request wants.
type Op string

// The operations. There are no others.
const (
	OpOpen  Op = "open"
	OpClose Op = "close"
	OpList  Op = "list"
)

// Limits of the contract.
const (
	// MaxCount is the highest number of sockets for one address, one per loop.
	MaxCount = 64
	// maxRequest bounds a request in bytes; a valid one is under 300.
	maxRequest = 1 << 10
	// maxReply bounds a reply; the list of all keys is the longest one.
	maxReply = 64 << 10
	// maxListed is how many keys one list reply carries (56 bytes each at most).
	maxListed = 1000
	// maxKeys bounds how many addresses netd holds open: one per farm.
	maxKeys = 1 << 12
)

// Request is one message from mgmt to netd. Address, Key and Network belong
// to open and close; Count to open; From to list.
type Request struct {
	Op Op `json:"op"`
	// Key is always KeyTCP of Address; both travel so that they can be checked.
	Key     string `json:"key,omitempty"`
	Network string `json:"network,omitempty"`
	// Address is "ip:port", port 1 … 65535, no zone, no mapped address.
	Address string `json:"address,omitempty"`
	// Count is 1 … MaxCount.
	Count int `json:"count,omitempty"`
	// From asks for the keys that sort after it; empty asks from the first.
	From string `json:"from,omitempty"`
}

// Reply is one message from netd to mgmt; the opened sockets are attached.
type Reply struct {
	Code  Code     `json:"code,omitempty"`
	Error string   `json:"error,omitempty"`
	Keys  []string `json:"keys,omitempty"`
	// More is true when a list did not fit; ask again from its last key.
	More bool `json:"more,omitempty"`
}

// KeyTCP names the TCP listeners of one address: "tcp/192.0.2.1:80",
// "tcp/[2001:db8::1]:80".
func KeyTCP(addr netip.AddrPort) string { return "tcp/" + addr.String() }

// parseRequest decodes and checks one request. Every error is an *Error with
// CodeInvalid; the address is the zero value for list.
func parseRequest(b []byte) (Request, netip.AddrPort, error) {
	var r Request
	if len(b) > maxRequest {
		return r, netip.AddrPort{}, refusal(CodeInvalid, "request of %d bytes: at most %d are allowed", len(b), maxRequest)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, netip.AddrPort{}, refusal(CodeInvalid, "request cannot be read: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return r, netip.AddrPort{}, refusal(CodeInvalid, "request is followed by other data")
	}
	addr, err := r.check()
	return r, addr, err
}

func (r *Request) check() (netip.AddrPort, error) {
	var none netip.AddrPort
	switch r.Op {
	case OpList:
		if r.Key != "" || r.Network != "" || r.Address != "" || r.Count != 0 {
			return none, refusal(CodeInvalid, "list takes no address")
		}
		return none, nil
	case OpOpen:
		if r.Count < 1 || r.Count > MaxCount {
			return none, refusal(CodeInvalid, "count %d: 1 to %d are allowed", r.Count, MaxCount)
		}
	case OpClose:
		if r.Count != 0 {
			return none, refusal(CodeInvalid, "close takes no count")
		}
	default:
		return none, refusal(CodeInvalid, "operation %q: open, close and list are allowed", r.Op)
	}
	if r.From != "" {
		return none, refusal(CodeInvalid, "%s takes no starting key", r.Op)
	}
	return r.address()
}

func (r *Request) address() (netip.AddrPort, error) {
	if r.Network != "tcp" {
		return netip.AddrPort{}, refusal(CodeInvalid, "network %q: tcp is allowed", r.Network)
	}
	addr, err := netip.ParseAddrPort(r.Address)
	if err != nil {
		return netip.AddrPort{}, refusal(CodeInvalid, "address %q: an IP address and a port are expected", r.Address)
	}
	ip := addr.Addr()
	if addr.Port() == 0 || ip.Zone() != "" || ip.Is4In6() || ip.IsMulticast() {
		return netip.AddrPort{}, refusal(CodeInvalid, "address %q: a unicast address without zone and a port from 1 on are expected", r.Address)
	}
	if r.Key != KeyTCP(addr) {
		return netip.AddrPort{}, refusal(CodeInvalid, "key %q does not belong to the address %s", r.Key, addr)
	}
	return addr, nil
}
