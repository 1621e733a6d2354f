package forward_test

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/porttest"
)

func TestTheFirstClientAfterAnOutageOfAllIsServed(t *testing.T) {
	one, two := enginetest.NewSilent(t), enginetest.NewSilent(t)
	a := newAppliance(t, 1)
	f := a.farm(one.Addr, two.Addr)
	f.L4.ResurrectTime = 3600
	a.publish(f)
	ask := func() string {
		c, err := net.Dial("tcp", address(f))
		if err != nil {
			return "" // the reset was faster
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		b, _ := io.ReadAll(c)
		return string(b)
	}
	if got := ask(); got != "" || a.health.Slot(1).Usable() || a.health.Slot(2).Usable() {
		t.Fatalf("got %q although all backends are down", got)
	}
	ln := two.Listen()
	defer ln.Close()
	go func() {
		for c, err := ln.Accept(); err == nil; c, err = ln.Accept() {
			_, _ = io.WriteString(c, "two")
			_ = c.Close()
		}
	}()
	time.Sleep(15 * time.Millisecond) // the minimum between two attempts, not until the next probe
	if got := ask(); got != "two" {
		t.Errorf("the first one after it got %q, want %q", got, "two")
	}
	if a.health.Slot(2).Passive() != health.Up || a.health.Slot(1).Passive() != health.Down {
		t.Errorf("found %v and %v", a.health.Slot(1).Passive(), a.health.Slot(2).Passive())
	}
}

// Attempts to reach down backends end soon, regardless of the connect timeout, so that the
// next client has its turn.
func TestAttemptsEndSoon(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(porttest.Full(t).String(), porttest.Full(t).String())
	f.L4.ConnectTimeout, f.L4.ResurrectTime = 3600, 3600
	a.publish(f)
	for id := range uint32(2) {
		a.health.SetPassive(id+1, health.Down, time.Now())
	}
	a.publish(f)
	if _, err := io.ReadAll(a.dial(f)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("it ended with %v", err)
	}
	if n := a.backend(1).ConnectFailures + a.backend(2).ConnectFailures; n != 1 {
		t.Errorf("%d backends were tried in the time of one", n)
	}
}

func TestTheFirstDatagramAfterAnOutageOfAllIsAnswered(t *testing.T) {
	a := newAppliance(t, 1)
	b := namedServer(t, "there")
	f := a.farmUDP(b.at())
	f.L4.ResurrectTime = 3600
	a.publish(f)
	a.health.SetPassive(1, health.Down, time.Now())
	a.publish(f)
	if got := ask(t, a.dialUDP(f), "x"); got != "there" {
		t.Errorf("answered %q, want %q", got, "there")
	}
	if a.health.Slot(1).Passive() != health.Up {
		t.Error("it answers, and is down")
	}
}
