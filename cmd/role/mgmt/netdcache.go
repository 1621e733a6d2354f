package mgmt

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Limits for netd's responses: an API response uses data of at most recentFresh. Callers
// that must not block, e.g. scrapes, use data of at most recentKept instead of waiting
// longer than recentPatience. A request may take recentTimeout.
const (
	recentFresh    = 500 * time.Millisecond
	recentKept     = time.Minute
	recentPatience = 300 * time.Millisecond
	recentTimeout  = 3 * time.Second
)

// recent is the latest response of netd to a question. At most one request is in progress,
// and all callers share it.
type recent[T any] struct {
	ask func(context.Context) (T, error)
	// differ reports whether a response differs from the previous one; nil means never.
	differ func(was, is T) bool
	moved  atomic.Uint64 // grows with each response that differs, after it is available

	mu   sync.Mutex
	last T
	at   time.Time // of last; zero before the first response
	open *asking
}

// asking is a request in progress; done is closed after err is set.
type asking struct {
	done chan struct{}
	err  error
}

// get returns fresh data, or the error of the request.
func (r *recent[T]) get(ctx context.Context) (T, error) {
	a := r.start()
	if a == nil {
		return r.latest(), nil
	}
	select {
	case <-a.done:
		return r.latest(), a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// soon returns the data available without a long wait; ok is false if it is missing or too
// old.
func (r *recent[T]) soon() (out T, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), recentPatience)
	defer cancel()
	if out, err := r.get(ctx); err == nil {
		return out, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, !r.at.IsZero() && time.Since(r.at) <= recentKept
}

func (r *recent[T]) latest() T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// start returns the request in progress, starting one if necessary, or nil if the data is
// fresh.
func (r *recent[T]) start() *asking {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.open != nil:
		return r.open
	case !r.at.IsZero() && time.Since(r.at) < recentFresh:
		return nil
	}
	a := &asking{done: make(chan struct{})}
	r.open = a
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), recentTimeout)
		defer cancel()
		found, err := r.ask(ctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.open = nil; err == nil {
			was := r.last
			r.last, r.at = found, time.Now()
			if r.differ != nil && r.differ(was, found) {
				r.moved.Add(1)
			}
		}
		a.err = err
		close(a.done)
	}()
	return a
}
