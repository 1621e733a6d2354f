package health_test

import (
	"testing"
	"testing/quick"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

func TestEjectionIsNoFinding(t *testing.T) {
	b := board(t)
	s, before := b.Slot(3), b.Version()
	b.SetPassive(3, health.Up, t0)
	s.Failed()
	if e := b.Eject(3, health.CauseTimeout, t0, time.Minute); !e.Until.Equal(t0.Add(time.Minute)) || e.Times != 1 || e.Cause != health.CauseTimeout || !e.Since.Equal(t0) {
		t.Errorf("%+v", e)
	}
	if n := s.Failed(); n != 1 {
		t.Errorf("the first failure after it is number %d in a row", n)
	}
	if s.Usable() || s.Missed() || s.Status() != farm.StatusDown || b.Version() != before+1 {
		t.Errorf("after it: usable %v, %s, version %d", s.Usable(), s.Status(), b.Version())
	}
	b.SetPassive(3, health.Down, t0)
	b.SetPassive(3, health.Up, t0)
	b.SetGuardian(3, health.Up, t0)
	if s.Usable() {
		t.Error("a finding ended it")
	}
	before = b.Version()
	if !b.Readmit(3, t0.Add(time.Minute)) || b.Readmit(3, t0) || !s.Usable() || s.Status() != farm.StatusUp || b.Version() != before+1 {
		t.Errorf("after its end: usable %v, %s", s.Usable(), s.Status())
	}
	if n := s.Failed(); n != 1 {
		t.Errorf("the first failure after its end is number %d in a row", n)
	}
}

func TestEjectionsThatFollowEachOtherGetLonger(t *testing.T) {
	b := board(t)
	at := t0
	for i, want := range []int{1, 2, 4, 8, 10, 10, 10} {
		e := b.Eject(3, health.CauseStatus, at, time.Minute)
		if got := e.Until.Sub(e.Since); got != time.Duration(want)*time.Minute || e.Times != i+1 {
			t.Errorf("ejection %d: %v", e.Times, got)
		}
		b.Readmit(3, e.Until)
		at = e.Until.Add(9 * time.Minute)
	}
	if e := b.Eject(3, health.CauseStatus, at.Add(10*time.Minute), time.Minute); e.Times != 1 {
		t.Errorf("after a long time it counts as number %d", e.Times)
	}
	at = at.Add(10*time.Minute + time.Second)
	b.Readmit(3, at) // before its time: from then on it counts
	if e := b.Eject(3, health.CauseStatus, at.Add(10*time.Minute), time.Minute); e.Times != 1 {
		t.Errorf("a long time after it was readmitted early it counts as number %d", e.Times)
	}
	b.Adopt(3, 77)
	if s := b.Slot(3); !s.Usable() {
		t.Error("another backend with the number is ejected")
	}
	if e := b.Eject(3, health.CauseStatus, at, time.Minute); e.Times != 1 {
		t.Errorf("the first one of another backend counts as number %d", e.Times)
	}
}

func TestFailuresCountInARow(t *testing.T) {
	s := board(t).Slot(3)
	for i := range 3 {
		if n := s.Failed(); n != i+1 {
			t.Errorf("%d failures, counted %d", i+1, n)
		}
	}
	s.Worked()
	if n := s.Failed(); n != 1 {
		t.Errorf("after a success: %d", n)
	}
}

// However often it is asked, someone stays, and no more are out than allowed.
func TestEjectionNeverTakesAll(t *testing.T) {
	if err := quick.Check(func(members []bool, percent uint8) bool {
		share, out, usable := int(percent)%101, 0, 0
		for _, up := range members { // false: down for other reasons
			if up {
				usable++
			}
		}
		some := usable > 0
		for range members {
			if usable == 0 || !health.MayEject(len(members), out, usable-1, share) {
				break
			}
			out++
			usable--
		}
		return out*100 <= len(members)*share && (!some || usable > 0)
	}, &quick.Config{MaxCount: 5000}); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ total, percent, want int }{{1, 100, 0}, {2, 50, 1}, {3, 50, 1}, {4, 50, 2}, {4, 100, 3}, {10, 9, 0}, {10, 10, 1}} {
		out := 0
		for health.MayEject(c.total, out, c.total-out-1, c.percent) {
			out++
		}
		if out != c.want {
			t.Errorf("%d %% of %d: %d are ejected, want %d", c.percent, c.total, out, c.want)
		}
	}
}
