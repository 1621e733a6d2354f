package revive_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/revive"
)

// onPorts returns backend 1 with the ports of addrs, all on 127.0.0.1.
func onPorts(addrs ...string) *revive.Backend {
	b := backend(addrs[0])
	for _, a := range addrs {
		b.Ports = append(b.Ports, revive.Port{Number: netip.MustParseAddrPort(a).Port()})
	}
	return b
}

func TestPortsFailIndependently(t *testing.T) {
	p, healthTable, log := prober(t)
	first, second := enginetest.NewSilent(t), enginetest.NewSilent(t)
	b := onPorts(first.Addr, second.Addr)
	lose := func(port revive.Port) {
		p.Lost(1, b.Reach, errors.New("refused"), func() *revive.Backend { return b.On(port) })
	}
	found := func(i int) health.State { return p.Apart(1, b.Ports[i]).Passive() }
	lose(revive.Port{Number: 1})
	if got := p.Refused(1); len(got) != 0 {
		t.Errorf("a port it has not makes %v down", got)
	}
	lose(b.Ports[1])
	if found(0) == health.Down || found(1) != health.Down || healthTable.Slot(1).Passive() == health.Down {
		t.Errorf("one port refused: %v %v, the whole %v", found(0), found(1), healthTable.Slot(1).Passive())
	}
	if got := p.Refused(1); len(got) != 1 || got[0] != b.Ports[1] || len(p.Refused(2)) != 0 {
		t.Errorf("down are %v, and of another backend %v", got, p.Refused(2))
	}
	lose(b.Ports[0])
	if found(0) != health.Down || healthTable.Slot(1).Passive() != health.Down {
		t.Errorf("both ports refused: %v, the whole %v", found(0), healthTable.Slot(1).Passive())
	}
	ln := second.Listen()
	defer ln.Close()
	eventually(t, "it is up", func() bool { return healthTable.Slot(1).Passive() == health.Up })
	if found(0) != health.Down || found(1) != health.Up {
		t.Errorf("after one port came back: %v %v", found(0), found(1))
	}
	if !log.Has(`msg="backend is down" farm=shop service=all cause=refused backend=` + second.Addr) {
		t.Errorf("log: %s", log.String())
	}
}

func TestPortFindingsEndWithTheirPorts(t *testing.T) {
	p, healthTable, _ := prober(t)
	first, second := enginetest.NewSilent(t), enginetest.NewSilent(t)
	b := onPorts(first.Addr, second.Addr)
	port := b.Ports[1]
	b.Every = time.Hour
	p.Lost(1, b.Reach, errors.New("refused"), func() *revive.Backend { return b.On(port) })
	retain(p, b)
	if p.Apart(1, port).Passive() != health.Down {
		t.Error("an unchanged configuration ended the finding")
	}
	retain(p, backend(first.Addr))
	if got := p.Refused(1); len(got) != 0 {
		t.Errorf("%v are tried after they are gone", got)
	}
	retain(p, b)
	if p.Apart(1, port).Passive() == health.Down {
		t.Error("a removed port has a finding")
	}
	// An earlier engine marked it down; states of ports were not preserved.
	healthTable.SetPassive(1, health.Down, time.Now())
	b.Every = 50 * time.Millisecond
	retain(p, b)
	if got := p.Refused(1); len(got) != 2 {
		t.Errorf("%v are tried", got)
	}
	ln := second.Listen()
	defer ln.Close()
	eventually(t, "it is up", func() bool { return healthTable.Slot(1).Passive() == health.Up })
	if p.Apart(1, b.Ports[0]).Passive() != health.Down {
		t.Error("the other port is up, too")
	}
}

// TCP and UDP on the same port have separate states. UDP cannot be probed by a connect
// and is assumed up when its retry is due.
func TestTCPAndUDPOfAPortFailIndependently(t *testing.T) {
	p, healthTable, log := prober(t)
	silent := enginetest.NewSilent(t)
	b := onPorts(silent.Addr)
	tcp := b.Ports[0]
	udp := revive.Port{Number: tcp.Number, UDP: true}
	b.Ports = append(b.Ports, udp)
	for _, port := range b.Ports {
		p.Lost(1, b.Reach, errors.New("refused"), func() *revive.Backend { return b.On(port) })
	}
	if healthTable.Slot(1).Passive() != health.Down {
		t.Error("neither is served, and the backend is not down")
	}
	eventually(t, "UDP is tried again", func() bool { return p.Apart(1, udp).Passive() == health.Up })
	eventually(t, "the whole, which follows its ports, is not down", func() bool { return healthTable.Slot(1).Passive() != health.Down })
	if p.Apart(1, tcp).Passive() != health.Down {
		t.Errorf("TCP is %v", p.Apart(1, tcp).Passive())
	}
	for _, line := range []string{"protocol=tcp", "protocol=udp"} {
		if !log.Has(`msg="backend is down" farm=shop service=all cause=refused backend=` + silent.Addr + " " + line) {
			t.Errorf("no %s: %s", line, log.String())
		}
	}
}
