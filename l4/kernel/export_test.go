package kernel

import (
	"context"
	"time"
)

// SetRetryPause changes the pause between retries. Call it before Run.
func SetRetryPause(d time.Duration) (restore func()) {
	old := retryPause
	retryPause = d
	return func() { retryPause = old }
}

// Follow runs one iteration of Run.
func (k *Reconciler) Follow(ctx context.Context) { k.follow(ctx, false) }

// Age moves all recorded times back by d.
func (k *Reconciler) Age(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, at := range []*time.Time{&k.looked, &k.asked, &k.failed, &k.prepared, &k.weighed, &k.released, &k.recounted} {
		if !at.IsZero() {
			*at = at.Add(-d)
		}
	}
	for i := range k.graced {
		k.graced[i].until = k.graced[i].until.Add(-d)
	}
	for id, until := range k.flushed {
		k.flushed[id] = until.Add(-d)
	}
}
