package publish_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/sysnet/ctl"
)

// forgets simulates a restart of netd.
func (n *netd) forgets() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held, n.adopted = nil, 0
	n.starts++
}

func (n *netd) regained() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.adopted
}

// A restarted netd gets the engine's sockets back for the addresses in use. This also holds if
// the engine dies at once, and if mgmt started after the engine.
func TestRestartedNetdGetsItsSocketsBack(t *testing.T) {
	b := newBench(t, config(a, b2))
	e := b.start(t, newEngine())
	before := b.netd.keys()
	b.netd.forgets()
	eventually(t, func() bool { return len(b.netd.keys()) == 2 })
	if got := b.netd.keys(); !sameKeys(got, before) || b.netd.regained() == 0 {
		t.Errorf("netd holds %v, had %v", got, before)
	}
	if _, err := b.Publish(t.Context(), config(b2)); err != nil {
		t.Fatal(err)
	}
	b.current = config(b2)
	b.netd.forgets()
	_ = e.Close()
	b.start(t, newEngine())
	if got := b.netd.keys(); !sameKeys(got, []string{"tcp/" + b2}) || b.netd.regained() == 0 {
		t.Errorf("with another engine netd holds %v, %d sockets were returned", got, b.netd.regained())
	}
	other := newBench(t, config(a))
	old := newEngine()
	old.listeners = []string{"tcp/" + a}
	other.netd.held = []string{"tcp/" + a}
	other.start(t, old)
	eventually(t, func() bool { // once it has copies
		other.netd.mu.Lock()
		defer other.netd.mu.Unlock()
		return other.netd.asked > 0
	})
	other.netd.forgets()
	eventually(t, func() bool { return other.netd.regained() > 0 })
}

// A new netd or mgmt has the sockets within half a second, as the engine may die next.
func TestCopiesOfSocketsAreMadeWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time advances only while all goroutines wait
		b := newBench(t, config(a))
		engine := newEngine()
		engine.listeners = []string{"tcp/" + a}
		b.netd.held = []string{"tcp/" + a}
		begun := time.Now()
		b.start(t, engine)
		eventually(t, func() bool {
			b.netd.mu.Lock()
			defer b.netd.mu.Unlock()
			return b.netd.asked > 0
		})
		if took := time.Since(begun); took > time.Second/2 {
			t.Errorf("mgmt has copies after %v", took)
		}
		synctest.Wait()
		for range 3 {
			begun = time.Now()
			b.netd.forgets()
			eventually(t, func() bool { return b.netd.regained() > 0 })
			if took := time.Since(begun); took > time.Second/2 {
				t.Errorf("netd has copies after %v", took)
			}
		}
	})
}

func sameKeys(x, y []string) bool {
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// A farm whose address this machine lacks does not cause a refusal, and starts within a second
// of the address appearing.
func TestFarmRetriesWhenItsAddressAppears(t *testing.T) {
	b := newBench(t, config(a))
	e := b.start(t, newEngine())
	b.netd.mu.Lock()
	b.netd.broken[b2] = &ctl.Error{Code: ctl.CodeNotLocal, Text: "no interface of this machine has the address"}
	b.netd.broken[c3] = &ctl.Error{Code: ctl.CodeInUse, Text: "another program"}
	b.netd.mu.Unlock()
	b.mu.Lock()
	b.current = config(a, b2, c3)
	b.mu.Unlock()
	out, err := b.Publish(t.Context(), config(a, b2, c3))
	if err != nil || !out.Absent[2] || out.Absent[3] || out.Absent[1] || len(out.FarmErrors) != 2 {
		t.Fatalf("%+v %v", out, err)
	}
	lives := len(e.lives())
	b.netd.mu.Lock()
	delete(b.netd.broken, b2)
	b.netd.mu.Unlock()
	for limit := time.Now().Add(time.Second); len(e.lives()) == lives; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("it does not run after a second")
		}
	}
}
