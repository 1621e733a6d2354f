package revive_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/revive"
)

func TestAShortOutageDoesNotCostTheTimeBetweenTries(t *testing.T) {
	p, healthTable, _ := prober(t)
	port := enginetest.NewSilent(t)
	b := backend(port.Addr)
	b.Every = time.Hour
	p.Lost(1, b.Reach, errors.New("refused"), func() *revive.Backend { return b })
	ln := port.Listen()
	defer ln.Close()
	eventually(t, "it is up", func() bool { return healthTable.Slot(1).Passive() == health.Up })
}

func TestSuccessfulExchangeMarksTheBackendUp(t *testing.T) {
	p, healthTable, log := prober(t)
	b := backend(enginetest.NewSilent(t).Addr)
	b.Every = time.Hour
	now := func() *revive.Backend { return b }
	p.Revived(b.Reach, now)
	if got := healthTable.Slot(1).Passive(); got != health.Undefined {
		t.Errorf("a backend that was not down is %v, want %v", got, health.Undefined)
	}
	p.Lost(1, b.Reach, errors.New("refused"), now)
	p.Revived("another address", now)
	p.Revived(b.Reach, func() *revive.Backend { return nil })
	if got := healthTable.Slot(1).Passive(); got != health.Down {
		t.Errorf("a moved or deleted backend is %v, want %v", got, health.Down)
	}
	p.Revived(b.Reach, now)
	if got := healthTable.Slot(1).Passive(); got != health.Up || len(log.Lines("backend is up again")) != 1 {
		t.Errorf("it is %v; log: %s", got, log.String())
	}
}
