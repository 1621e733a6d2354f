package listening_test

import (
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/sysnet/listening"
)

func TestListeningSocketsAreListed(t *testing.T) {
	var want []listening.Socket
	for _, addr := range []string{"127.0.0.7:0", "[::1]:0"} {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Skip("no listener on", addr, err)
		}
		defer l.Close()
		c, err := net.Dial("tcp", l.Addr().String()) // a connection is not listed
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		p, err := net.ListenPacket("udp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		want = append(want, listening.Socket{Addr: netip.MustParseAddrPort(l.Addr().String())},
			listening.Socket{UDP: true, Addr: netip.MustParseAddrPort(p.LocalAddr().String())})
	}
	u, err := net.Dial("udp", "127.0.0.7:9")
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	list, err := listening.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range want {
		if !slices.Contains(list, w) {
			t.Errorf("%+v is not among %+v", w, list)
		}
	}
	if slices.Contains(list, listening.Socket{UDP: true, Addr: netip.MustParseAddrPort(u.LocalAddr().String())}) {
		t.Error("a connected socket is listed")
	}
}
