package conntrack

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// part is an attribute of a message.
func part(kind uint16, value ...byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	b = append(binary.NativeEndian.AppendUint16(b, kind), value...)
	return append(b, make([]byte, align(len(b))-len(b))...)
}

func parts(kind uint16, in ...[]byte) []byte {
	return part(kind|unix.NLA_F_NESTED, slices.Concat(in...)...)
}

func TestEntriesAreDecoded(t *testing.T) {
	number := func(kind uint16, n uint64) []byte { return part(kind, binary.BigEndian.AppendUint64(nil, n)...) }
	tuple := func(kind uint16, from, to [4]byte, fromPort, toPort byte) []byte {
		return parts(kind, parts(1, part(1, from[:]...), part(2, to[:]...)), parts(2, part(1, 6), part(2, 0, fromPort), part(3, 0, toPort)))
	}
	client, vip, own, back := [4]byte{198, 51, 100, 1}, [4]byte{192, 0, 2, 1}, [4]byte{10, 0, 0, 254}, [4]byte{10, 0, 0, 1}
	body := slices.Concat(make([]byte, genHeader), tuple(1, client, vip, 100, 80), tuple(2, back, own, 81, 200), appendWord(nil, 3, 0x0e),
		parts(4, parts(1, part(1, 7))), parts(5, part(1, []byte("ftp\x00")...)), appendWord(nil, 7, 99), appendWord(nil, 8, 0x5c000007),
		parts(9, number(1, 5), number(2, 6)), parts(10, number(1, 7), number(2, 8)), part(18, 0, 4))
	got, err := decode(message(msgNew, 0, body))
	at := func(a [4]byte, port uint16) netip.AddrPort { return netip.AddrPortFrom(netip.AddrFrom4(a), port) }
	want := Entry{Mark: 0x5c000007, Protocol: 6, Client: at(client, 100), To: at(vip, 80), Backend: at(back, 81), Via: at(own, 200),
		State: "time_wait", Timeout: 99, Zone: 4, Helper: "ftp", PacketsIn: 5, BytesIn: 6, PacketsOut: 7, BytesOut: 8}
	if err != nil || got != want {
		t.Errorf("read %+v, %v\nwant %+v", got, err, want)
	}
	for name, msg := range map[string][]byte{"half a head": message(msgNew, 0, make([]byte, genHeader-1)), "half an address": message(msgNew, 0, append(make([]byte, genHeader), parts(1, parts(1, part(1, 1, 2, 3)))...))} {
		if e, err := decode(msg); err == nil {
			t.Errorf("%s: read %+v", name, e)
		}
	}
	if got := attribute([]byte{4, 0, 1, 0}, 1); got == nil || len(got) != 0 {
		t.Errorf("an empty attribute: %v", got)
	}
}

func TestStatesHaveTheirNames(t *testing.T) {
	for protocol, names := range map[uint8][]string{
		unix.IPPROTO_TCP:  {"none", "syn_sent", "syn_recv", "established", "fin_wait", "close_wait", "last_ack", "time_wait", "close", "syn_sent2", "unreplied"},
		unix.IPPROTO_SCTP: {"none", "closed", "cookie_wait", "cookie_echoed", "established", "shutdown_sent", "shutdown_recd", "shutdown_ack_sent", "heartbeat_sent", "unreplied"},
		unix.IPPROTO_UDP:  {"unreplied"},
	} {
		for n, want := range names {
			if got := state(essence{protocol: protocol, state: uint8(n)}, false); got != want {
				t.Errorf("protocol %d, state %d: %s, want %s", protocol, n, got, want)
			}
		}
		if got := state(essence{protocol: protocol, state: uint8(len(names))}, true); got != "replied" {
			t.Errorf("protocol %d, state %d: got %s, want %s", protocol, len(names), got, "replied")
		}
	}
	u := Usage{Entries: 1, Max: 2, Dropped: 3, Displaced: 4, Failed: 5}
	if got, want := u.String(), "1 of 2 tracked connections, 3 packets dropped and 4 entries displaced because the table was full"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestEntriesHaveOneOrder(t *testing.T) {
	a := netip.MustParseAddrPort
	sorted := []Entry{
		{Mark: 1, Client: a("10.0.0.9:9"), To: a("10.0.0.9:9"), Protocol: 9, Zone: 9},
		{Mark: 2, Client: a("10.0.0.1:1"), To: a("10.0.0.9:9"), Protocol: 9, Zone: 9},
		{Mark: 2, Client: a("10.0.0.1:2"), To: a("10.0.0.1:1"), Protocol: 9, Zone: 9},
		{Mark: 2, Client: a("10.0.0.1:2"), To: a("10.0.0.1:2"), Protocol: 6, Zone: 9},
		{Mark: 2, Client: a("10.0.0.1:2"), To: a("10.0.0.1:2"), Protocol: 7, Zone: 1},
		{Mark: 2, Client: a("10.0.0.1:2"), To: a("10.0.0.1:2"), Protocol: 7, Zone: 2},
	}
	shuffled := slices.Clone(sorted)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	slices.SortFunc(shuffled, func(a, b Entry) int { return Compare(&a, &b) })
	if !slices.Equal(shuffled, sorted) {
		t.Errorf("sorted as %+v, want %+v", shuffled, sorted)
	}
	same := sorted[0]
	same.Timeout, same.State = 5, "another"
	if Compare(&same, &sorted[0]) != 0 {
		t.Error("a changing field distinguishes entries")
	}
}
