package accesslog_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/accesslog"
)

func TestRecorderWantsOnlyRequestedRecords(t *testing.T) {
	var none accesslog.Recorder
	if none.Wants(1, true, 0) != 0 {
		t.Error("without a segment records are made")
	}
	s := segment(t)
	r := accesslog.NewRecorder(s, s.Writer(0, new(bell)), 3)
	s.Watch(2, true)
	for _, c := range []struct {
		farm uint32
		logs bool
		want accesslog.Flags
	}{{1, false, 0}, {1, true, accesslog.Logged}, {2, false, accesslog.Watched}, {2, true, accesslog.Logged | accesslog.Watched}} {
		if got := r.Wants(c.farm, c.logs, 1); got != c.want {
			t.Errorf("farm %d, logged %v: %b, want %b", c.farm, c.logs, got, c.want)
		}
	}
	taken := 0
	for range 1000 {
		if r.Wants(1, true, 10) != 0 {
			taken++
		}
	}
	if taken < 50 || taken > 200 {
		t.Errorf("one in 10 is logged: %d of 1000", taken)
	}
	r.Entry.Begin()
	r.Entry.Farm, r.Entry.Loop = 1, r.Loop
	r.Put(r.Entry)
	if n := s.Reader().Drain(func(rec *accesslog.Record) {
		if rec.Farm != 1 || rec.Loop != 3 {
			t.Errorf("%+v", rec.Exchange)
		}
	}); n != 1 {
		t.Errorf("%d records", n)
	}
}
