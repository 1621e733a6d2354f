package icmp_test

import (
	"bytes"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/sluicelb/sluice/sysnet/icmp"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestErrorsAreReceivedAndSent(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	sysnettest.IP(t, "link add v0 type veth peer name v1")
	sysnettest.Up(t, "v0", "v1")
	sysnettest.IP(t, "address add "+vip4.String()+"/32 dev lo")
	sysnettest.IP(t, "address add "+vip6.String()+"/128 dev lo nodad")
	near, err := net.InterfaceByName("v0")
	if err != nil {
		t.Fatal(err)
	}
	far, err := net.InterfaceByName("v1")
	if err != nil {
		t.Fatal(err)
	}
	before := descriptors(t)
	l, err := icmp.Listen()
	if err != nil {
		t.Fatal(err)
	}
	heard := func(what string, want []byte, at int) {
		t.Helper()
		h, ok, err := l.Next(5 * time.Second)
		if err != nil || !ok || !bytes.Equal(h.Packet(), want) || h.Index != at {
			t.Errorf("%s: %v, %v, by interface %d; want %d", what, ok, err, h.Index, at)
		}
	}
	silent := func(what string) {
		t.Helper()
		if h, ok, err := l.Next(50 * time.Millisecond); ok || err != nil {
			t.Errorf("%s: %+v, %v", what, h, err)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	silent("nobody says anything")
	for _, six := range []bool{false, true} {
		good := tooBig(t, six, about(t, six, layers.IPProtocolTCP))
		if !six {
			good[5] = 7 // otherwise the kernel fills in the ID
			good = withChecksums(good)
		}
		must(l.Send(good)) // routed to this machine
		heard("by the routes", good, 1)
		must(l.SendTo(near.Index, [6]byte(far.HardwareAddr), good))
		heard("on the wire", good, far.Index)
		must(l.SendTo(near.Index, [6]byte{2, 0, 0, 0, 0, 9}, good))
		silent("for another machine")
		spoiled := slices.Clone(good)
		spoiled[len(spoiled)-1]++
		for range 200 { // more than maxTaken
			must(l.SendTo(near.Index, [6]byte(far.HardwareAddr), spoiled))
		}
		must(l.SendTo(near.Index, [6]byte(far.HardwareAddr), good))
		heard("among others", good, far.Index)
	}
	if err := l.SendTo(9999, [6]byte{}, tooBig(t, false, about(t, false, layers.IPProtocolTCP))); err == nil {
		t.Error("by an interface that is none")
	}
	if l.Close(); descriptors(t) != before {
		t.Errorf("%d descriptors stay open", descriptors(t)-before)
	}
}
