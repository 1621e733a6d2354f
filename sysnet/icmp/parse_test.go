package icmp_test

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/sluicelb/sluice/sysnet/icmp"
)

// saying returns an error of the type about a packet, sent to the VIP.
func saying(t *testing.T, six bool, kind uint8, quoted []byte) []byte {
	t.Helper()
	if six {
		l := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolICMPv6, SrcIP: router6.AsSlice(), DstIP: vip6.AsSlice()}
		i := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(kind, 0)}
		_ = i.SetNetworkLayerForChecksum(l)
		return build(t, l, i, gopacket.Payload(append(make([]byte, 4), quoted...)))
	}
	l := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolICMPv4, SrcIP: router4.AsSlice(), DstIP: vip4.AsSlice()}
	return build(t, l, &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(kind, 0)}, gopacket.Payload(quoted))
}

func TestEveryErrorTypeIsParsed(t *testing.T) {
	errors := map[bool][]uint8{false: {3, 11, 12}, true: {1, 2, 3, 4}}
	for six, want := range errors {
		for kind := range 256 {
			if _, ok := icmp.Parse(saying(t, six, uint8(kind), about(t, six, layers.IPProtocolTCP))); ok != slices.Contains(want, uint8(kind)) {
				t.Errorf("six %v: type %d: %v", six, kind, ok)
			}
		}
	}
}

// withChecksums sets the checksums of an IPv4 header and of the ICMP message in it.
func withChecksums(p []byte) []byte {
	put := func(at int, covered []byte) {
		binary.BigEndian.PutUint16(p[at:], 0)
		s := uint32(0)
		for i := 0; i+1 < len(covered); i += 2 {
			s += uint32(binary.BigEndian.Uint16(covered[i:]))
		}
		if len(covered)%2 == 1 {
			s += uint32(covered[len(covered)-1]) << 8
		}
		s = s&0xffff + s>>16
		binary.BigEndian.PutUint16(p[at:], ^uint16(s+s>>16))
	}
	if size := int(p[0]&15) * 4; size >= 20 && len(p) >= size+8 {
		put(size+2, p[size:])
		put(10, p[:size])
	}
	return p
}

// The IP header may have options, and may be quoted in part.
func TestIPv4HeadersWithOptionsAreParsed(t *testing.T) {
	options := func(p []byte) []byte { // four NOP options
		p = slices.Insert(slices.Clone(p), 20, 1, 1, 1, 1)
		p[0]++
		binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
		return p
	}
	quoted := about(t, false, layers.IPProtocolTCP)
	set := func(p []byte, at int, to ...byte) []byte {
		p = slices.Clone(p)
		copy(p[at:], to)
		return p
	}
	plain := saying(t, false, 3, quoted)
	for name, c := range map[string]struct {
		packet []byte
		want   bool
	}{
		"plain":                                {plain, true},
		"options":                              {withChecksums(options(plain)), true},
		"options in what is quoted":            {saying(t, false, 3, options(quoted)), true},
		"the first fragment is quoted":         {saying(t, false, 3, set(quoted, 6, 0x20)), true},
		"another fragment is quoted":           {saying(t, false, 3, set(quoted, 6, 0, 1)), false},
		"a late fragment is quoted":            {saying(t, false, 3, set(quoted, 6, 0x10)), false},
		"a fragment":                           {withChecksums(set(plain, 6, 0x20)), false},
		"a later fragment":                     {withChecksums(set(plain, 6, 0, 1)), false},
		"one that may not be fragmented":       {withChecksums(set(plain, 6, 0x40)), true},
		"a head that is too short":             {set(plain, 0, 0x44), false},
		"a quoted head that is too short":      {saying(t, false, 3, set(quoted, 0, 0x44)), false},
		"longer than what came":                {withChecksums(set(plain, 2, 1)), false},
		"no room for ICMP":                     {withChecksums(set(plain[:28], 2, 0, 27)), false},
		"room for ICMP alone":                  {withChecksums(set(plain[:28], 2, 0, 28)), false},
		"another head":                         {set(plain[:len(plain):len(plain)], 10, 0, 0), false},
		"the ports and no more":                {saying(t, false, 3, quoted[:24]), true},
		"ports that are cut":                   {saying(t, false, 3, quoted[:23]), false},
		"a quoted head that is cut":            {saying(t, false, 3, quoted[:19]), false},
		"SCTP":                                 {saying(t, false, 3, set(quoted, 9, icmp.SCTP)), true},
		"a protocol without ports":             {saying(t, false, 3, set(quoted, 9, 47)), false},
		"a packet of neither version":          {set(plain, 0, 0x55), false},
		"a quoted packet of neither version":   {saying(t, false, 3, set(quoted, 0, 0x55)), false},
		"cut in its head":                      {plain[:19], false},
		"a head that reaches beyond its quote": {saying(t, false, 3, set(quoted[:24], 0, 0x4f)), false},
	} {
		m, ok := icmp.Parse(slices.Clone(c.packet))
		if ok != c.want {
			t.Errorf("%s: understood: got %v, want %v", name, ok, c.want)
		}
		if ok && (m.Src != netip.AddrPortFrom(vip4, 80) || m.Dst != netip.AddrPortFrom(client4, 4711) || m.From != router4 || m.To != vip4) {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// Extension headers may precede the ports in IPv6.
func TestPortsAreFoundAfterIPv6ExtensionHeaders(t *testing.T) {
	const hop, routing, fragment, tcp, none, options = 0, 43, 44, 6, 59, 60
	whole := about(t, true, layers.IPProtocolTCP)
	with := func(first byte, extensions ...byte) []byte {
		p := slices.Insert(slices.Clone(whole), 40, extensions...)
		p[6] = first
		return p
	}
	ext := func(next, more byte) []byte { return append([]byte{next, more}, make([]byte, 6+8*int(more))...) }
	for name, c := range map[string]struct {
		quoted []byte
		want   bool
	}{
		"none":                          {whole, true},
		"options of each hop":           {with(hop, ext(tcp, 0)...), true},
		"a route":                       {with(routing, ext(tcp, 2)...), true},
		"options":                       {with(options, ext(tcp, 1)...), true},
		"all of them":                   {with(hop, slices.Concat(ext(options, 0), ext(routing, 1), ext(fragment, 0), []byte{tcp, 0, 0, 1, 0, 0, 0, 9})...), true},
		"a first fragment":              {with(fragment, tcp, 7, 0, 1, 0, 0, 0, 9), true}, // the second byte is reserved
		"another fragment":              {with(fragment, tcp, 0, 0, 8, 0, 0, 0, 9), false},
		"a late fragment":               {with(fragment, tcp, 0, 1, 0, 0, 0, 0, 9), false},
		"an extension and nothing more": {with(options, ext(tcp, 0)...)[:48], false},
		"an extension that is cut":      {with(options, ext(tcp, 0)...)[:47], false},
		"longer than what is quoted":    {with(options, ext(tcp, 255)...)[:100], false},
		"no next head":                  {with(options, ext(none, 0)...), false},
		"the ports and no more":         {whole[:44], true},
		"ports that are cut":            {whole[:43], false},
		"a head that is cut":            {whole[:39], false},
		"a byte of an extension":        {with(options, ext(tcp, 0)...)[:41], false},
	} {
		m, ok := icmp.Parse(saying(t, true, 2, c.quoted))
		if ok != c.want {
			t.Errorf("%s: understood: got %v, want %v", name, ok, c.want)
		}
		if !ok {
			continue
		}
		if m.Src != netip.AddrPortFrom(vip6, 80) || m.Dst != netip.AddrPortFrom(client6, 4711) || m.Protocol != icmp.TCP {
			t.Errorf("%s: %+v", name, m)
		}
		again, ok := icmp.Parse(m.Rewrite(m.From, back6, netip.AddrPortFrom(back6, 8080), m.Dst))
		if !ok || again.Src != netip.AddrPortFrom(back6, 8080) || again.Dst != m.Dst {
			t.Errorf("%s: rewritten: %v, %+v", name, ok, again)
		}
	}
}

// A UDP checksum of zero means none (RFC 768). It stays zero, and others never become
// zero.
func TestZeroUDPChecksumStaysZero(t *testing.T) {
	const sum = 20 + 8 + 20 + 6 // its offset
	quoted := about(t, false, layers.IPProtocolUDP)
	m, _ := icmp.Parse(saying(t, false, 3, quoted))
	full := 0
	for port := range 1 << 16 {
		out := m.Rewrite(m.From, m.To, netip.AddrPortFrom(m.Src.Addr(), uint16(port)), m.Dst)
		switch binary.BigEndian.Uint16(out[sum:]) {
		case 0:
			t.Fatalf("port %d: the sum became none", port)
		case 0xffff:
			full++
		}
	}
	if full == 0 {
		t.Error("no port made the sum zero")
	}
	binary.BigEndian.PutUint16(quoted[26:], 0)
	m, _ = icmp.Parse(saying(t, false, 3, quoted))
	if out := m.Rewrite(m.From, back4, netip.AddrPortFrom(back4, 8080), m.Dst); binary.BigEndian.Uint16(out[sum:]) != 0 {
		t.Error("none became a sum")
	}
}
