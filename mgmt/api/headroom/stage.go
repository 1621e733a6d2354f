package headroom

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// stage serialises rehearsals. A rehearsal occupies a CPU for up to seconds and needs
// memory for all backends of the group, regardless of the number of requests. Waiting
// requests run in order of arrival.
type stage chan struct{}

func newStage() stage { return make(stage, 1) }

// longest bounds a rehearsal including the wait. The server closes connections after a
// minute.
const longest = 50 * time.Second

// play waits for its turn and runs do. It returns the error of the context if that ends
// first.
func (s stage) play(ctx context.Context, do func()) error {
	select {
	case s <- struct{}{}:
	case <-ctx.Done():
		return unplayed(ctx)
	}
	defer func() { <-s }() // even after a panic
	if ctx.Err() != nil {
		return unplayed(ctx)
	}
	do()
	return nil
}

// unplayed returns the error for a turn that did not come in time.
func unplayed(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &rest.Rejection{Status: http.StatusServiceUnavailable, Cause: ctx.Err(), Header: http.Header{"Retry-After": {"10"}},
			Message: "too much is rehearsed at once: ask again later, or take fewer backends out"}
	}
	return ctx.Err() // the client has gone
}
