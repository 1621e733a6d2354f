package reset

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/sluicelb/sluice/sysnet/conntrack"
)

func TestBothEndsOfEstablishedConnectionsAreNotified(t *testing.T) {
	at := netip.MustParseAddrPort
	open := conntrack.Entry{State: "established", Client: at("198.51.100.7:4711"), To: at("192.0.2.1:80"), Backend: at("10.0.0.2:8080"), Via: at("10.0.0.1:4711")}
	half := open
	half.State = "syn_sent"
	var got [][2]netip.AddrPort
	tellBy([]conntrack.Entry{half, open}, func(from, to netip.AddrPort) { got = append(got, [2]netip.AddrPort{from, to}) })
	want := [][2]netip.AddrPort{{open.To, open.Client}, {open.Via, open.Backend}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAcknowledgementMatchesTheConnection(t *testing.T) {
	for _, c := range []struct{ from, to string }{{"192.0.2.1:80", "198.51.100.7:4711"}, {"[2001:db8::1]:80", "[2001:db8::7]:4711"}} {
		from, to := netip.MustParseAddrPort(c.from), netip.MustParseAddrPort(c.to)
		b, err := acknowledgement(from, to)
		if err != nil {
			t.Fatal(err)
		}
		first := gopacket.LayerType(layers.LayerTypeIPv4)
		if to.Addr().Is6() {
			first = layers.LayerTypeIPv6
		}
		p := gopacket.NewPacket(b, first, gopacket.Default)
		tcp, is := p.Layer(layers.LayerTypeTCP).(*layers.TCP)
		if !is || !tcp.ACK || tcp.RST || tcp.SYN || tcp.FIN || len(tcp.Payload) != 0 || uint16(tcp.SrcPort) != 80 || uint16(tcp.DstPort) != 4711 {
			t.Errorf("%s: %v", c.to, p)
		}
		ends := p.NetworkLayer().NetworkFlow()
		if ends.Src().String() != from.Addr().String() || ends.Dst().String() != to.Addr().String() {
			t.Errorf("%s: %v", c.to, ends)
		}
	}
	for _, c := range [][2]netip.AddrPort{{}, {netip.MustParseAddrPort("192.0.2.1:80"), netip.MustParseAddrPort("[::1]:80")}} {
		if _, err := acknowledgement(c[0], c[1]); err == nil {
			t.Errorf("from %s to %s there is a connection", c[0], c[1])
		}
	}
}
