package loop

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

type noted struct{ fired int }

func (n *noted) expire() { n.fired++ }

// Each timer fires once, at its deadline or within the tick after it. This holds for
// any sequence of setting, moving and stopping, and any interval between calls of
// advance.
func TestTimersFireInTheTickAfterTheirDeadline(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var w wheel
	now := int64(7*tickNanos + 3)
	w.init(now)
	const count = 60
	timers, want, due := [count]*Timer{}, [count]int64{}, [count]int64{}
	at := map[*Timer]int{}
	for i := range timers {
		timers[i] = &Timer{target: &noted{}}
		at[timers[i]] = i
	}
	for step := range 30000 {
		i := random.IntN(count)
		switch random.IntN(5) {
		case 0:
			w.drop(timers[i])
			want[i] = 0
		case 1, 2:
			spread := [...]int64{3, 60, 3 * wheelSlots}[random.IntN(3)]
			want[i] = max(1, now+random.Int64N(spread*tickNanos)-tickNanos)
			due[i] = max(want[i]/tickNanos, w.now) + 1
			stays := timers[i].linked() && timers[i].tick <= due[i]
			was := timers[i].tick
			if w.set(timers[i], want[i]); stays && timers[i].tick != was {
				t.Fatalf("step %d: a later deadline was relinked", step)
			}
			if timers[i].tick > max(due[i], w.now+1) {
				t.Fatalf("step %d: linked at %d, due at %d", step, timers[i].tick, due[i])
			}
		default:
			now += random.Int64N([...]int64{2, 3, 2 * wheelSlots}[random.IntN(3)] * tickNanos / 2)
			w.advance(now, func(timer *Timer) {
				i := at[timer]
				if want[i] == 0 || want[i] > now || timer.deadline != 0 || timer.linked() {
					t.Fatalf("step %d: a timer for %d fires at %d; it is linked: %t", step, want[i], now, timer.linked())
				}
				want[i] = 0
			})
			if w.now != now/tickNanos {
				t.Fatalf("step %d: the wheel is at %d, want %d", step, w.now, now/tickNanos)
			}
			for i := range want {
				if want[i] != 0 && due[i] <= w.now {
					t.Fatalf("step %d: a timer for %d did not go off at %d", step, want[i], now)
				}
			}
		}
		linked := 0
		for i, timer := range timers {
			if timer.linked() {
				linked++
			} else if want[i] != 0 {
				t.Fatalf("step %d: a timer is forgotten", step)
			}
		}
		if linked != w.entries {
			t.Fatalf("step %d: %d timers are counted, %d are linked", step, w.entries, linked)
		}
	}
}

// at sets the clock of a loop that does not run.
func (l *Loop) at(now int64) { l.now, l.stale = now, false }

// The timerfd ticks only while timers are armed, so an idle loop never wakes.
func TestALoopTicksOnlyWhileThereAreTimers(t *testing.T) {
	s := newSingle(t)
	l := s.l
	ticks := func(want int64) {
		t.Helper()
		var spec unix.ItimerSpec
		if err := unix.TimerfdGettime(l.timerFD, &spec); err != nil {
			t.Fatal(err)
		}
		if got := unix.TimespecToNsec(spec.Interval); got != want || l.ticking != (want != 0) {
			t.Errorf("it ticks every %d ns, want %d", got, want)
		}
	}
	ticks(0)
	l.at(10 * tickNanos)
	n := &noted{}
	timer := l.NewTimer(n.expire)
	l.StartTimer(timer, 3*tickNanos)
	if ticks(tickNanos); timer.deadline != 13*tickNanos || timer.tick != 14 || l.wheel.entries != 1 {
		t.Errorf("due at %d, linked at %d, one of %d", timer.deadline, timer.tick, l.wheel.entries)
	}
	l.StartTimer(timer, 8*tickNanos)
	if timer.tick != 19 {
		t.Errorf("a timer that is started again is linked at %d, want 19", timer.tick)
	}
	l.StartTimer(timer, -20*tickNanos) // overdue
	if timer.deadline != 1 || timer.tick != 11 {
		t.Errorf("due at %d, linked at %d", timer.deadline, timer.tick)
	}
	l.at(11 * tickNanos)
	l.expire()
	if ticks(0); n.fired != 1 {
		t.Errorf("it went off %d times", n.fired)
	}
	// The wheel did not advance meanwhile.
	l.at(5000 * tickNanos)
	s.c.SetIdle(2 * tickNanos)
	if ticks(tickNanos); s.c.timer.tick != 5003 || s.c.timer.deadline != 5002*tickNanos {
		t.Errorf("due at %d, linked at %d", s.c.timer.deadline, s.c.timer.tick)
	}
	s.c.SetIdle(7 * tickNanos) // relative to a clock that may be a tick old
	if s.c.timer.tick != 5003 || s.c.timer.deadline != 5008*tickNanos {
		t.Errorf("moved later it is due at %d, linked at %d", s.c.timer.deadline, s.c.timer.tick)
	}
	l.at(5004 * tickNanos)
	if l.expire(); l.wheel.entries != 1 || s.c.timer.tick != 5009 {
		t.Errorf("%d timers, linked at %d", l.wheel.entries, s.c.timer.tick)
	}
	s.hears(t)
	l.at(5009 * tickNanos)
	l.expire()
	s.hears(t, "expired")
	ticks(0)
	for range 3 { // the clock is read once per event
		event := l.event
		l.tick()
		if now := l.Now(); l.stale || l.Now() != now || l.event != event+1 {
			t.Error("the clock is read twice, or events are not counted")
		}
	}
}

// After a process was stopped, waiting input is served before deadlines fire.
func TestTimersWaitAfterTheLoopCouldNotRun(t *testing.T) {
	s := newSingle(t)
	l := s.l
	l.at(10 * tickNanos)
	n := &noted{}
	l.StartTimer(l.NewTimer(n.expire), 3*tickNanos)
	l.at(11 * tickNanos)
	l.tickDue()
	for tick := range int64(20) { // it was stopped until 100
		l.at((100 + tick) * tickNanos)
		l.tickDue()
		if want := tick >= mostSpared-1; n.fired > 0 != want {
			t.Fatalf("%d ticks after it was stopped the timer went off %d times", tick, n.fired)
		}
	}
	late := &noted{}
	l.at(200 * tickNanos)
	l.StartTimer(l.NewTimer(late.expire), 3*tickNanos)
	l.at((200 + stallTicks) * tickNanos) // late, as on a busy machine
	if l.tickDue(); late.fired != 1 {
		t.Error("a timer waits though the loop runs")
	}
}

// A dry loop has no descriptors and a stopped clock; an imagined connection has the
// given peer and name.
func TestDryLoopImaginesConnections(t *testing.T) {
	l := Dry()
	if now := l.Now(); now != 0 || time.Since(l.Time(now)).Abs() > time.Minute {
		t.Errorf("its clock is at %d, which is %v", now, l.Time(now))
	}
	if at := l.Time(int64(time.Hour)); at.Sub(l.Time(0)) != time.Hour {
		t.Errorf("an hour later it is %v", at)
	}
	for _, secure := range []bool{false, true} {
		peer := netip.MustParseAddrPort("192.0.2.1:7")
		c := l.Imagine(peer, secure, "a.example")
		if c.Peer() != peer || c.Loop() != l || c.Secured() != secure {
			t.Errorf("secure %t: a client at %v, secured: %t", secure, c.Peer(), c.Secured())
		}
		if said := c.TLS(); (said != nil) != secure || secure && said.ServerName != "a.example" {
			t.Errorf("secure %t: TLS is %v", secure, said)
		}
	}
}
