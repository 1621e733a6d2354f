package kernel

import (
	"context"
	"time"
)

// SetRetryPause changes how often what failed is tried again; before Run.
func SetRetryPause(d time.Duration) (restore func()) {
	old := retryPause
	retryPause = d
	return func() { retryPause = old }
}

// Follow is one look of Run.
func (k *Keeper) Follow(ctx context.Context) { k.follow(ctx, false) }
