package forward_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
)

func TestFlowsThatEndedLeaveRecords(t *testing.T) {
	a := newAppliance(t, 1)
	next := recorded(t, a)
	f := a.farmUDP(goneUDP(t), answering(t, same).at())
	one := uint16(1)
	f.L4.Logs, f.L4.Responses, f.L4.Persist = true, &one, farm.L4PersistSrc
	a.publish(f)
	c := a.dialUDP(f)
	ask(t, c, "hello") // the first backend refuses it
	got, client := next()
	want := accesslog.Exchange{Farm: 1, Backend: 2, BytesIn: 5, BytesOut: 5, Proto: accesslog.ProtoUDP, Flags: accesslog.Logged | accesslog.Retried, Tries: 2, Why: accesslog.WhyAlgorithm}
	if plain(got) != want || client.String() != c.LocalAddr().String() {
		t.Errorf("the record of %s is\n%+v, want\n%+v", client, got, want)
	}
	ask(t, c, "again")
	if got, _ := next(); got.Tries != 1 || got.Why != accesslog.WhySession {
		t.Errorf("the record of a known client is %+v", got)
	}
	f.L4.Responses = nil
	a.publish(f)
	ask(t, c, "x")
	a.engine.FlushConnections(nil)
	if got, _ := next(); !got.Flags.Has(accesslog.AbortedHere) {
		t.Errorf("the record of a flushed flow is %+v", got)
	}
}
