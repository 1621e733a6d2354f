package forward_test

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/marks/markstest"
)

func TestMarkedFlowsUseSocketsOfNetd(t *testing.T) {
	netd := markstest.New(t, slog.New(slog.DiscardHandler))
	a := newAppliance(t, 1)
	a.engine.MarkWith(netd.Reserve)
	f := a.farmUDP(answering(t, same).at())
	f.L4.Mark = 7
	a.publish(f)
	for range 3 {
		if ask(t, a.dialUDP(f), "x") != "x" {
			t.Error("answered wrong")
		}
	}
	if made := netd.Made(); !slices.Equal(made, []marks.Kind{{Mark: 7, UDP: true}}) {
		t.Errorf("sockets were made for %v", made)
	}
}

func TestDatagramsCarryTheMark(t *testing.T) {
	if fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0); err == nil {
		defer syscall.Close(fd)
		if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_MARK, 7); errors.Is(err, syscall.EPERM) {
			t.Skip("needs root: nobody else may set marks")
		}
	}
	a := newAppliance(t, 1)
	f := a.farmUDP(answering(t, same).at())
	f.L4.Backends[0].Mark = 7
	a.publish(f)
	if ask(t, a.dialUDP(f), "x") != "x" {
		t.Error("answered wrong")
	}
}

func TestDatagramsUseTheFarmsSource(t *testing.T) {
	a := newAppliance(t, 1)
	back, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	f := a.farmUDP(back.LocalAddr().String())
	source := netip.MustParseAddr("127.0.0.77")
	f.L4.Source = source
	a.publish(f)
	_, _ = a.dialUDP(f).Write([]byte("x"))
	_, from, err := back.ReadFromUDPAddrPort(make([]byte, 10))
	if err != nil || from.Addr() != source {
		t.Errorf("came from %s, %v", from, err)
	}
}
