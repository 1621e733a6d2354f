package revive_test

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/revive"
)

func blames(err error) bool { return err != nil }

func TestDoubtIsResolvedByAProbe(t *testing.T) {
	p, healthTable, log := prober(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	there := backend(ln.Addr().String())
	doubt := func() {
		p.Doubt(1, there.Reach, blames, func() *revive.Backend { return there })
	}
	doubt()
	retain(p, there)
	c, err := ln.Accept()
	if err != nil {
		t.Fatal("it was not tried:", err)
	}
	_ = c.Close()
	if got := healthTable.Slot(1).Passive(); got == health.Down || log.Has("down") {
		t.Errorf("while it is reachable it is %v: %s", got, log.String())
	}
	_ = ln.Close()
	eventually(t, "it is down", func() bool { doubt(); return healthTable.Slot(1).Passive() == health.Down })
	if !log.Has(`msg="backend is down" farm=shop service=all cause="connect: connection refused"`) {
		t.Errorf("log: %s", log.String())
	}
	if ln, err = net.Listen("tcp", there.Addr.String()); err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	eventually(t, "it is up", func() bool { return healthTable.Slot(1).Passive() == health.Up })
}

func TestDoubtReportsNothingBeforeItsProbe(t *testing.T) {
	p, healthTable, _ := prober(t)
	b := backend(enginetest.NewSilent(t).Addr)
	seen := make(chan error, 10)
	p.Doubt(1, "another address", blames, func() *revive.Backend { return b })
	p.Doubt(1, b.Reach, func(err error) bool { seen <- err; return false }, func() *revive.Backend { return b })
	retain(p, b)
	if got := healthTable.Slot(1).Passive(); got != health.Undefined {
		t.Errorf("it is %v, want %v", got, health.Undefined)
	}
	eventually(t, "it is asked who is to blame", func() bool { return len(seen) > 0 })
	if err := <-seen; !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the second connect was made because of %v", err)
	}
	time.Sleep(3 * b.Every) // longer than the retry interval
	if got := healthTable.Slot(1).Passive(); got != health.Undefined || len(seen) != 0 {
		t.Errorf("after a neutral error it is %v, with %d more tries", got, len(seen))
	}
	// A doubt about a backend that is down already is ignored.
	p.Doubt(1, b.Reach, func(error) bool { return false }, func() *revive.Backend { return b })
	p.Lost(1, b.Reach, errors.New("refused"), func() *revive.Backend { return b })
	time.Sleep(3 * b.Every)
	if got := healthTable.Slot(1).Passive(); got != health.Down {
		t.Errorf("it is %v, though it was found down", got)
	}
}
