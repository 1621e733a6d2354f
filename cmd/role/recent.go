package role

import (
	"context"
	"sync"
	"time"
)

// How long what netd says is good for: an answer of the API takes what is at
// most recentFresh old. Who may not wait, as a scrape, takes what is at most
// recentKept old rather than wait longer than recentPatience. One question may
// take recentTimeout.
const (
	recentFresh    = 500 * time.Millisecond
	recentKept     = time.Minute
	recentPatience = 300 * time.Millisecond
	recentTimeout  = 3 * time.Second
)

// recent is what netd last said about something. One question is under way at a
// time, whoever waits for it.
type recent[T any] struct {
	ask func(context.Context) (T, error)

	mu   sync.Mutex
	last T
	at   time.Time // of last; zero before the first answer
	open *asking
}

// asking is a question under way; done is closed when err is set.
type asking struct {
	done chan struct{}
	err  error
}

// get returns what is fresh, or the error of who was asked.
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

// soon returns what is known without waiting long; ok is false when that is
// nothing, or too old.
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

// start returns the question under way, a new one if there is none; nil when
// what is known is fresh.
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
			r.last, r.at = found, time.Now()
		}
		a.err = err
		close(a.done)
	}()
	return a
}
