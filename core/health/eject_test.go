package health_test

import (
	"slices"
	"testing"
	"testing/quick"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

func TestEjectionDoesNotChangeFindings(t *testing.T) {
	b := newTable(t)
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
	b := newTable(t)
	at := t0
	for i, want := range append([]int{1, 2, 4, 8}, slices.Repeat([]int{10}, 70)...) { // 64 would overflow without a limit
		e := b.Eject(3, health.CauseStatus, at, time.Minute)
		if got := e.Until.Sub(e.Since); got != time.Duration(want)*time.Minute || e.Times != min(i+1, 31) {
			t.Errorf("ejection %d, counted as %d: %v", i+1, e.Times, got)
		}
		b.Readmit(3, e.Until)
		at = e.Until.Add(9 * time.Minute)
	}
	if e := b.Eject(3, health.CauseStatus, at.Add(10*time.Minute), time.Minute); e.Times != 1 {
		t.Errorf("after a long time it counts as number %d, want 1", e.Times)
	}
	at = at.Add(10*time.Minute + time.Second)
	b.Readmit(3, at) // early: the time counts from then on
	if e := b.Eject(3, health.CauseStatus, at.Add(10*time.Minute), time.Minute); e.Times != 1 {
		t.Errorf("a long time after it was readmitted early it counts as number %d, want 1", e.Times)
	}
}

func TestFailuresCountInARow(t *testing.T) {
	s := newTable(t).Slot(3)
	for i := range 3 {
		if n := s.Failed(); n != i+1 {
			t.Errorf("%d failures, counted %d", i+1, n)
		}
	}
	for range 2 { // after three, and after one
		s.Worked()
		if n := s.Failed(); n != 1 {
			t.Errorf("after a success: got %d, want 1", n)
		}
	}
}

// Some member always stays, and no more than allowed are ejected.
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

// A finding about one port of a backend is a new version and affects no other slot.
func TestPerPortFindingAffectsOnlyItsSlot(t *testing.T) {
	b := newTable(t)
	var apart health.Slot
	before := b.Version()
	if !b.SetApart(&apart, health.Down, t0) || apart.Usable() || apart.Passive() != health.Down || b.Version() != before+1 {
		t.Errorf("down: usable %t, %v, version %d", apart.Usable(), apart.Passive(), b.Version()-before)
	}
	if b.SetApart(&apart, health.Down, t0) || b.Version() != before+1 {
		t.Error("a repeated finding advances the version")
	}
	if !b.Slot(0).Usable() || !b.Slot(1).Usable() {
		t.Error("a backend of the table is down")
	}
	if !b.SetApart(&apart, health.Up, t0) || !apart.Usable() || apart.Guardian() != health.Undefined {
		t.Errorf("up: usable %t, guardian %v", apart.Usable(), apart.Guardian())
	}
}

func TestEjectionCausesHaveTexts(t *testing.T) {
	const row = "failures in a row, the last one: "
	for cause, want := range map[health.Cause][2]string{
		health.CauseStatus:  {"an answer of 5xx", row},
		health.CauseReset:   {"its connection ended before the answer", row},
		health.CauseTimeout: {"no answer in time", row},
		health.CauseRate:    {"too many of its requests failed", ""},
		health.CauseSlow:    {"its answers took far longer than those of others", ""},
	} {
		if got, why := cause.String(), (health.Ejection{Cause: cause}).Why(); got != want[0] || why != want[1]+want[0] {
			t.Errorf("%d: %q, %q, want %q", cause, got, why, want)
		}
	}
}
