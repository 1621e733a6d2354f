package stats

import (
	"sync/atomic"
	"testing"
)

// The race detector does not watch mapped memory, so this test uses the heap. A sum
// beside a writer without atomics must be allowed, read whole words and never decrease.
func TestConcurrentSumNeverDecreases(t *testing.T) {
	var f Farm
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			f.Requests += 1<<32 + 1 // a torn read would show unequal halves
			f.BytesIn += 2
		}
	}()
	var last uint64
	for range 20000 {
		var sum Farm
		add(sum.words(), f.words())
		if sum.Requests < last || sum.Requests>>32 != sum.Requests&(1<<32-1) {
			t.Errorf("requests %#x after %#x", sum.Requests, last)
			break
		}
		last = sum.Requests
	}
	stop.Store(true)
	<-done
}
