package firewall

import "slices"

// Packets is one kind of forwarded packet of farms.
type Packets struct {
	// Marked packets carry the mark themselves and are untracked (stateless dnat). All
	// others have it on their connection (nat, dnat).
	Marked bool
	V6     bool
	// Protocol is "tcp", "udp" or "sctp".
	Protocol string
}

// Transports are the protocols of forwarded packets.
var Transports = []string{"tcp", "udp", "sctp"}

// farmPacket is such a packet as seen by conditions of nft.
type farmPacket struct {
	Packets
	mark, mask uint32
}

// markKind returns the kind of nft expression that contains the mark of the farm.
func (p Packets) markKind() string {
	if p.Marked {
		return "meta"
	}
	return "ct"
}

// match implements packet.
func (p farmPacket) match(op string, left, right any) fit {
	if !p.has(left) {
		return never
	}
	is := p.oneOf(left, values(right))
	switch op {
	case "==", "in":
		return is
	case "!=":
		return always - is
	}
	return perhaps
}

// has reports whether the packet has the property at all. Untracked packets have no ct
// mark, so every comparison of it fails.
func (p farmPacket) has(left any) bool {
	kind, of := named(unmasked(left))
	if kind == "payload" {
		protocol, _ := of["protocol"].(string)
		return payloadOf(protocol, p.Protocol, !p.V6)
	}
	key, _ := of["key"].(string)
	return !p.Marked || kind != "ct" || key == "state"
}

// values returns the elements of a set, or the single value.
func values(right any) (out []any) {
	if m, is := right.(map[string]any); is {
		switch {
		case m["set"] != nil:
			return values(m["set"])
		case m["elem"] != nil:
			e, _ := m["elem"].(map[string]any)
			return values(e["val"])
		}
	}
	list, several := right.([]any)
	if !several {
		return []any{right}
	}
	for _, v := range list {
		out = append(out, values(v)...)
	}
	return out
}

// oneOf compares left with each value. Tracked farms have packets of new and of
// established connections, so the match is certain only if both states are in the list.
func (p farmPacket) oneOf(left any, list []any) fit {
	best := never
	for _, v := range list {
		best = max(best, p.equal(left, v))
	}
	if kind, of := named(left); kind == "ct" && of["key"] == "state" && !p.Marked && slices.Contains(list, any("new")) && slices.Contains(list, any("established")) {
		return always
	}
	return best
}

func (p farmPacket) equal(left, value any) fit {
	if p.hasMark(left) {
		return p.markIs(left, value)
	}
	kind, of := named(left)
	text, isText := value.(string)
	key, _ := of["key"].(string)
	field, _ := of["field"].(string)
	switch {
	case !isText || text != "" && text[0] == '@':
		return perhaps
	case kind == "payload" && (field == "protocol" || field == "nexthdr"), kind == "meta" && key == "l4proto":
		return fitIf(text == p.Protocol)
	case kind == "meta" && (key == "nfproto" || key == "protocol"):
		return p.family(text)
	case kind == "ct" && key == "state":
		return p.state(text)
	case kind == "ct" && key == "status" && text == "dnat":
		return always
	}
	return perhaps
}

// family compares the address family with its name.
func (p farmPacket) family(text string) fit {
	switch text {
	case "ip", "ipv4":
		return fitIf(!p.V6)
	case "ip6", "ipv6":
		return fitIf(p.V6)
	}
	return never
}

// state compares the conntrack state.
func (p farmPacket) state(text string) fit {
	switch {
	case p.Marked:
		return fitIf(text == "untracked")
	case text == "untracked" || text == "invalid":
		return never
	}
	return perhaps
}

// hasMark reports whether left is the mark of the farm, masked or not.
func (p farmPacket) hasMark(left any) bool {
	kind, of := named(unmasked(left))
	return kind == p.markKind() && of["key"] == "mark"
}

// unmasked returns left without "& mask".
func unmasked(left any) any {
	if m, _ := left.(map[string]any); m["&"] != nil {
		if pair, _ := m["&"].([]any); len(pair) == 2 {
			return pair[0]
		}
	}
	return left
}

// markIs compares the mark. Only its bits in mask are known.
func (p farmPacket) markIs(left, value any) fit {
	const all = 1<<32 - 1
	bits := uint64(all)
	if m, _ := left.(map[string]any); m["&"] != nil {
		pair, _ := m["&"].([]any)
		var ok bool
		if bits, ok = number(pair[1]); !ok {
			return perhaps
		}
	}
	first, last := uint64(p.mark)&bits, uint64(p.mark|^p.mask)&bits
	if kind, of := named(value); kind == "prefix" {
		addr, _ := number(of["addr"])
		length, ok := number(of["len"])
		if !ok || length > 32 {
			return perhaps
		}
		return within(first, last, addr, addr|all>>length)
	}
	if e := ends(value); e != nil {
		low, ok := number(e[0])
		high, also := number(e[1])
		if !ok || !also {
			return perhaps
		}
		return within(first, last, low, high)
	}
	is, ok := number(value)
	if !ok {
		return perhaps
	}
	return within(first, last, is, is)
}

// within compares the range first … last with the range low … high: always if it is
// inside, never if they are disjoint.
func within(first, last, low, high uint64) fit {
	switch {
	case low <= first && last <= high:
		return always
	case last < low || high < first:
		return never
	}
	return perhaps
}

func number(v any) (uint64, bool) {
	f, ok := v.(float64)
	return uint64(f), ok && f >= 0 && f < 1<<32
}
