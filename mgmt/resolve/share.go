package resolve

import (
	"context"
	"sync"
)

// Limits of the concurrent queries by Ask: of one source and in total. A source can have some
// names that do not answer in each of its changes, and several sources can do so at a time.
const (
	asksOfSource = 16
	asksAtOnce   = 4 * asksOfSource
)

type sourceKey struct{}

// WithSource returns a context whose queries count for a source, e.g. a user.
func WithSource(ctx context.Context, source string) context.Context {
	return context.WithValue(ctx, sourceKey{}, source)
}

func sourceOf(ctx context.Context) string {
	source, _ := ctx.Value(sourceKey{}).(string)
	return source
}

// share limits the concurrent work of each source and of all of them.
type share struct {
	mu    sync.Mutex
	all   int
	of    map[string]int
	freed chan struct{} // closed when work ends
}

func newShare() *share { return &share{of: map[string]int{}, freed: make(chan struct{})} }

// enter waits until the source may work. Without an error the caller must call leave. Errors:
// errors of ctx.
func (s *share) enter(ctx context.Context, source string) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.mu.Lock()
		if s.all < asksAtOnce && s.of[source] < asksOfSource {
			s.all++
			s.of[source]++
			s.mu.Unlock()
			return nil
		}
		freed := s.freed
		s.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
		}
	}
}

// leave ends work of the source.
func (s *share) leave(source string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.of[source]--; s.of[source] == 0 {
		delete(s.of, source)
	}
	close(s.freed)
	s.freed = make(chan struct{})
}
