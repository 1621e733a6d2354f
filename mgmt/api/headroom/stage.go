package headroom

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// stage is where groups are rehearsed, one at a time: playing one keeps a CPU busy for up
// to seconds, and takes memory for all its backends, however many requests ask for it.
// Who waits has the next turn in the order of asking.
type stage chan struct{}

func newStage() stage { return make(stage, 1) }

// longest bounds a rehearsal with its waits: the server ends connections after a minute.
const longest = 50 * time.Second

// play waits for a turn and uses it; the error is that of the context, if it ends first.
func (s stage) play(ctx context.Context, do func()) error {
	select {
	case s <- struct{}{}:
	case <-ctx.Done():
		return unplayed(ctx)
	}
	defer func() { <-s }() // whatever becomes of it
	if ctx.Err() != nil {
		return unplayed(ctx)
	}
	do()
	return nil
}

// unplayed says why there was no turn in time.
func unplayed(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &rest.Rejection{Status: http.StatusServiceUnavailable, Cause: ctx.Err(), Header: http.Header{"Retry-After": {"10"}},
			Message: "too much is rehearsed at once: ask again later, or take fewer backends out"}
	}
	return ctx.Err() // nobody waits for it any more
}
