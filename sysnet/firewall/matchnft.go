package firewall

import (
	"net/netip"
	"strings"
)

// match implements packet.
func (to Listener) match(op string, left, right any) fit {
	if !meant(unmasked(left), to) {
		return never
	}
	is := oneOf(left, right, to)
	switch op {
	case "==", "in":
		return is
	case "!=":
		return always - is
	}
	return perhaps
}

// meant reports whether packets to the listener have the property left at all.
func meant(left any, to Listener) bool {
	kind, of := named(left)
	protocol, _ := of["protocol"].(string)
	if kind == "ct" && to.path == untracked {
		return of["key"] == "state"
	}
	return kind != "payload" || payloadOf(protocol, to.Network, to.Addr.Addr().Is4())
}

// payloadOf reports whether a packet of this transport and family can contain a header of
// the protocol.
func payloadOf(protocol, transport string, v4 bool) bool {
	switch protocol {
	case "tcp", "udp", "sctp":
		return protocol == transport
	case "ip", "ip6":
		return (protocol == "ip") == v4
	case "icmp", "icmpv6", "igmp", "dccp", "udplite", "esp", "ah", "comp":
		return false
	}
	return true
}

// named splits an expression such as {"meta": {"key": "iif"}} into its kind and
// properties.
func named(left any) (kind string, of map[string]any) {
	m, _ := left.(map[string]any)
	for kind, v := range m {
		of, _ = v.(map[string]any)
		return kind, of
	}
	return "", nil
}

// oneOf compares left with one value or with each value of a set.
func oneOf(left, right any, to Listener) fit {
	if m, is := right.(map[string]any); is {
		switch {
		case m["set"] != nil:
			return oneOf(left, m["set"], to)
		case m["elem"] != nil:
			e, _ := m["elem"].(map[string]any)
			return oneOf(left, e["val"], to)
		}
	}
	list, several := right.([]any)
	if !several || len(list) == 0 {
		return equal(left, right, to)
	}
	best := never
	for _, r := range list {
		best = max(best, oneOf(left, r, to))
	}
	return best
}

// equal compares left with one value, range or prefix.
func equal(left, right any, to Listener) fit {
	kind, of := named(left)
	text, isText := right.(string)
	if strings.HasPrefix(text, "@") {
		return perhaps // named set: contents unknown
	}
	key, _ := of["key"].(string)
	field, _ := of["field"].(string)
	switch {
	case kind == "payload" && field == "dport":
		return toPort(right, to)
	case kind == "payload" && field == "daddr":
		return toAddress(right, to)
	case !isText:
		return perhaps
	case kind == "payload" && (field == "protocol" || field == "nexthdr"), kind == "meta" && key == "l4proto":
		return to.protocol(text)
	case kind == "meta" && (key == "nfproto" || key == "protocol"):
		if v4 := text == "ip" || text == "ipv4"; v4 || text == "ip6" || text == "ipv6" {
			return fitIf(v4 == to.Addr.Addr().Is4())
		}
	case kind == "meta" && (key == "iif" || key == "iifname"):
		return to.comesBy(text)
	case kind == "meta" && key == "pkttype":
		return fitIf(text == "host" || text == "unicast") // nft accepts both names
	case kind == "ct" && key == "state", kind == "ct" && key == "status" && text == "dnat":
		return to.newClient(text)
	case kind == "fib" && of["result"] == "type":
		if flags, _ := of["flags"].([]any); len(flags) == 1 && flags[0] == "daddr" {
			return to.destination(text)
		}
	}
	return perhaps
}

func toPort(right any, to Listener) fit {
	first, last := right, right
	if ends := ends(right); ends != nil {
		first, last = ends[0], ends[1]
	}
	a, isA := first.(float64)
	b, isB := last.(float64)
	if !isA || !isB || a < 0 || b < 0 {
		return perhaps
	}
	return to.port(uint64(a), uint64(b))
}

func toAddress(right any, to Listener) fit {
	if ends := ends(right); ends != nil {
		a, _ := ends[0].(string)
		b, _ := ends[1].(string)
		first, err := netip.ParseAddr(a)
		last, also := netip.ParseAddr(b)
		if err != nil || also != nil {
			return perhaps
		}
		return to.within(first, last)
	}
	if kind, of := named(right); kind == "prefix" {
		text, _ := of["addr"].(string)
		bits, _ := of["len"].(float64)
		a, err := netip.ParseAddr(text)
		if err != nil {
			return perhaps
		}
		return to.inside(netip.PrefixFrom(a, int(bits)).String())
	}
	text, _ := right.(string)
	return to.inside(text)
}

// ends returns both ends of a range, or nil.
func ends(right any) []any {
	m, _ := right.(map[string]any)
	if list, _ := m["range"].([]any); len(list) == 2 {
		return list
	}
	return nil
}
