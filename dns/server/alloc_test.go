//go:build !race

package server_test

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestAnAnswerAllocatesNothing(t *testing.T) {
	a := newAppliance(t, 1, example())
	a.up(1, 2, 3)
	ask := a.engine.Answerer(7)
	for _, question := range costly {
		msg := query(t, question)
		if n := testing.AllocsPerRun(100, func() { ask(msg, client) }); n != 0 {
			t.Errorf("%s: %v allocations, want none", question, n)
		}
	}
}

func TestARecordAllocatesNothing(t *testing.T) {
	g := example()
	g.Logs = true
	a := newAppliance(t, 1, g)
	a.up(1, 2, 3)
	records := newRecorder(t)
	ask := a.engine.RecordingAnswerer(7, records.Writers(1, nobody{})[0], records.Segment)
	for _, question := range costly {
		msg := query(t, question)
		if n := testing.AllocsPerRun(100, func() { ask(msg, client) }); n != 0 {
			t.Errorf("%s: %v allocations, want none", question, n)
		}
		if n := len(records.read()); n < 100 {
			t.Errorf("%s: %d records", question, n)
		}
	}
}

func TestAnAnswerByHTTPSAllocatesNothing(t *testing.T) {
	a := newAppliance(t, 1, example())
	a.up(1, 2, 3)
	msg, from := query(t, "www.example.com A"), netip.AddrPortFrom(client, 4711)
	done, n := make(chan struct{}), 0.0
	a.Loops[0].Post(func() {
		defer close(done)
		n = testing.AllocsPerRun(100, func() { a.engine.AnswerHTTPS(0, "names", msg, from) })
	})
	if <-done; n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestCachedSignatureAllocatesNothing(t *testing.T) {
	g := example()
	key := zoneKey(t, farm.SignECDSA, farm.KeyActive)
	g.Zones[0].Signing, g.Zones[0].Keys = farm.SignECDSA, []farm.ZoneKey{key}
	a := newAppliance(t, 1, g)
	a.up(1, 2, 3)
	ask := a.engine.Answerer(7)
	for _, question := range costly {
		msg := query(t, question)
		msg[len(msg)-4] |= 0x80
		ask(msg, client) // signs
		if n := testing.AllocsPerRun(100, func() { ask(msg, client) }); n != 0 {
			t.Errorf("%s: %v allocations, want none", question, n)
		}
	}
}
