package revive_test

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/revive"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// prober returns a Prober with a health table and a loop, which end with the test.
func prober(t *testing.T) (*revive.Prober, *health.Table, *logtest.Log) {
	t.Helper()
	h := enginetest.New(t, 1)
	p := revive.New(h.Loops, h.Health, h.Logger())
	h.End(t, p.Close)
	return p, h.Health, &h.Log
}

// backend returns backend 1 at an address, retried every 50 ms.
func backend(addr string) *revive.Backend {
	return &revive.Backend{
		ID: 1, Addr: netip.MustParseAddrPort(addr), Timeout: time.Second, Every: 50 * time.Millisecond,
		Options: loop.DialOptions{Preface: []byte("hello")}, Reach: addr,
		Owner: []any{"farm", "shop", "service", "all"}, Alias: "rack one",
	}
}

// retain makes backend 1 the only backend, and new.
func retain(p *revive.Prober, b *revive.Backend) {
	p.Retain(func(id uint32) *revive.Backend {
		if id == b.ID {
			return b
		}
		return nil
	}, []*revive.Backend{b})
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	enginetest.Eventually(t, what, ok)
}

// Retries beyond the limit of concurrent ones follow later.
func TestAllBackendsOfAnOutageAreTried(t *testing.T) {
	p, healthTable, _ := prober(t)
	const all = 100
	for id := uint32(1); id <= all; id++ {
		b := backend("127.0.0.1:9")
		b.ID, b.Blind = id, true
		p.Lost(id, b.Reach, errors.New("refused"), func() *revive.Backend { return b })
	}
	eventually(t, "all are up again", func() bool {
		for id := uint32(1); id <= all; id++ {
			if healthTable.Slot(id).Passive() != health.Up {
				return false
			}
		}
		return true
	})
}

func TestBackendIsUpAfterASuccessfulConnect(t *testing.T) {
	p, healthTable, log := prober(t)
	port := enginetest.NewSilent(t)
	b := backend(port.Addr)
	p.Lost(1, b.Reach, errors.New("refused"), func() *revive.Backend { return b })
	if healthTable.Slot(1).Passive() != health.Down {
		t.Fatal("not down")
	}
	about := ` backend=` + b.Addr.String() + ` alias="rack one"`
	if !log.Has(`msg="backend is down" farm=shop service=all cause=refused` + about) {
		t.Errorf("log: %s", log.String())
	}
	ln := port.Listen()
	defer ln.Close()
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if heard, err := io.ReadAll(c); string(heard) != "hello" || err != nil {
		t.Errorf("got %q: %v", heard, err)
	}
	eventually(t, "it is up", func() bool { return healthTable.Slot(1).Passive() == health.Up })
	eventually(t, "that is said", func() bool { return log.Has(`msg="backend is up again" farm=shop service=all` + about) })
}

func TestFailuresOfOldTargetsAreIgnored(t *testing.T) {
	p, healthTable, _ := prober(t)
	now := backend(enginetest.NewSilent(t).Addr)
	p.Lost(1, "another address", errors.New("refused"), func() *revive.Backend { return now })
	p.Lost(1, now.Reach, errors.New("refused"), func() *revive.Backend { return nil })
	if got := healthTable.Slot(1).Passive(); got != health.Undefined {
		t.Errorf("it is %v, want %v", got, health.Undefined)
	}
	p.Reached(1)
	if got := healthTable.Slot(1).Passive(); got != health.Up {
		t.Errorf("once reached it is %v, want %v", got, health.Up)
	}
}

func TestMovedBackendLosesItsFinding(t *testing.T) {
	p, healthTable, _ := prober(t)
	b := backend(enginetest.NewSilent(t).Addr)
	p.Lost(1, b.Reach, errors.New("refused"), func() *revive.Backend { return b })
	retain(p, b)
	if got := healthTable.Slot(1).Passive(); got != health.Down {
		t.Errorf("after an unchanged configuration it is %v, want %v", got, health.Down)
	}
	moved := backend(enginetest.NewSilent(t).Addr)
	retain(p, moved)
	if got := healthTable.Slot(1).Passive(); got != health.Undefined {
		t.Errorf("at another address it is %v, want %v", got, health.Undefined)
	}
}

func TestInheritedDownBackendsAreProbed(t *testing.T) {
	p, healthTable, _ := prober(t)
	healthTable.SetPassive(1, health.Down, time.Now())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	retain(p, backend(ln.Addr().String()))
	eventually(t, "it is up", func() bool { return healthTable.Slot(1).Passive() == health.Up })
}
