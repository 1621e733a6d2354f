package guardian_test

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestHowSoonProbesAreAnsweredIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		is := func(when string, id uint32, want time.Duration) {
			t.Helper()
			if got := h.table.Slot(id).Latency(); got != want {
				t.Errorf("%s: %v of backend %d, want %v", when, got, id, want)
			}
		}
		takes := func(d time.Duration) {
			h.mu.Lock()
			h.slow[server(1)] = d
			h.mu.Unlock()
		}
		takes(80 * time.Millisecond)
		h.Set(config(alive(), web("shop", "alive", 1, 2)))
		is("before any result", 1, 0)
		time.Sleep(time.Second)
		synctest.Wait()
		is("the first", 1, 80*time.Millisecond)
		takes(160 * time.Millisecond)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		is("a slower one", 1, 90*time.Millisecond)
		h.breaks(server(1), "refused")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		is("failures say nothing", 1, 90*time.Millisecond)
		h.Set(config(alive(), web("shop", "alive", 1, 3)))
		is("after a change", 1, 90*time.Millisecond)
		next := startOn(t, h.table, 0) // mgmt starts again
		next.Set(config(alive(), web("shop", "alive", 1)))
		is("after a restart", 1, 90*time.Millisecond)
		next.Set(config(alive(), web("shop", "", 1)))
		is("nobody asks any more", 1, 0)
	})
}
