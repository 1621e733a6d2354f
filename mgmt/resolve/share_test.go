package resolve_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/mgmt/resolve"
)

// servers answer at once, except for names that begin with dead, which they never answer, and with
// late, which they answer after 20 s.
type servers struct {
	mu             sync.Mutex
	dead, mostDead int // queries in progress
	begun          map[string][]time.Time
}

var errSilent = errors.New("no name server answers")

func (s *servers) lookup(ctx context.Context, q resolve.Question) (resolve.Answer, error) {
	s.mu.Lock()
	s.begun[q.Name] = append(s.begun[q.Name], time.Now())
	s.mu.Unlock()
	wait := time.Duration(0)
	switch {
	case strings.HasPrefix(q.Name, "dead"):
		s.count(1)
		defer s.count(-1)
		wait = time.Hour
	case strings.HasPrefix(q.Name, "late"):
		wait = 20 * time.Second
	}
	select {
	case <-ctx.Done():
		return resolve.Answer{}, errSilent
	case <-time.After(wait):
	}
	return resolve.Answer{Targets: []resolve.Target{{Addr: netip.MustParseAddr("192.0.2.1")}}, TTL: 5 * time.Second}, nil
}

func (s *servers) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead += n
	s.mostDead = max(s.mostDead, s.dead)
}

// most returns the largest number of concurrent queries of dead names.
func (s *servers) most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mostDead
}

func (s *servers) asked(name string) []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun[name]
}

// prompt fails if the name was not queried again soon after its TTL.
func (s *servers) prompt(t *testing.T, name string) {
	t.Helper()
	times := s.asked(name)
	for i := range times[1:] {
		if wait := times[i+1].Sub(times[i]); wait > 7*time.Second {
			t.Errorf("%s with a TTL of 5 s was queried again after %v", name, wait)
		}
	}
	if len(times) < 8 {
		t.Errorf("%s was queried %d times", name, len(times))
	}
}

// followed runs a follower of names in a bubble.
func followed(t *testing.T, names []string, do func(t *testing.T, f *resolve.Follower, s *servers)) {
	synctest.Test(t, func(t *testing.T) {
		s := &servers{begun: map[string][]time.Time{}}
		var wanted []resolve.Question
		for _, name := range names {
			wanted = append(wanted, resolve.Question{Name: name})
		}
		f := resolve.New(resolve.Options{Lookup: s.lookup, Wanted: func() []resolve.Question { return wanted }})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); f.Run(ctx) }()
		do(t, f, s)
		cancel()
		<-done
		time.Sleep(time.Minute) // queries of Ask end
	})
}

// A user who asks for many dead names delays neither the names in use nor other users.
func TestDeadNamesOfOneUserDelayNoOther(t *testing.T) {
	followed(t, []string{"used.example"}, func(t *testing.T, f *resolve.Follower, s *servers) {
		eve := resolve.WithSource(t.Context(), "eve")
		for round := range 12 {
			ctx, cancel := context.WithTimeout(eve, 5*time.Second)
			var asking sync.WaitGroup
			for i := range 300 {
				asking.Go(func() { _, _ = f.Ask(ctx, resolve.Question{Name: fmt.Sprintf("dead%d-%d.example", round, i)}) })
			}
			time.Sleep(time.Second)
			began := time.Now()
			name := fmt.Sprintf("new%d.example", round)
			bob, cancelBob := context.WithTimeout(resolve.WithSource(t.Context(), "bob"), 5*time.Second)
			targets, err := f.Ask(bob, resolve.Question{Name: name})
			if err != nil || len(targets) != 1 || time.Since(began) > time.Second {
				t.Errorf("another user got %v, %v after %v", targets, err, time.Since(began))
			}
			cancelBob()
			asking.Wait()
			cancel()
		}
		if s.prompt(t, "used.example"); s.most() > 16 {
			t.Errorf("%d queries of one user at a time", s.most())
		}
	})
}

func TestManyUsersAreLimitedTogether(t *testing.T) {
	followed(t, []string{"used.example"}, func(t *testing.T, f *resolve.Follower, s *servers) {
		var asking sync.WaitGroup
		for i := range 200 {
			ctx, cancel := context.WithTimeout(resolve.WithSource(t.Context(), fmt.Sprint("user", i)), time.Minute)
			defer cancel()
			asking.Go(func() { _, _ = f.Ask(ctx, resolve.Question{Name: fmt.Sprintf("dead%d.example", i)}) })
		}
		asking.Wait()
		if s.prompt(t, "used.example"); s.most() != 64 {
			t.Errorf("%d queries at a time", s.most())
		}
	})
}

// Dead names in the configuration delay only each other.
func TestDeadNamesInUseDelayNoOthers(t *testing.T) {
	names := []string{"used.example"}
	for i := range 400 {
		names = append(names, fmt.Sprintf("dead%d.example", i))
	}
	followed(t, names, func(t *testing.T, f *resolve.Follower, s *servers) {
		if _, err := f.Ask(t.Context(), resolve.Question{Name: "used.example"}); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Minute)
		s.prompt(t, "used.example")
	})
}

func TestNoQueryBeginsAfterTheTimeOfTheCaller(t *testing.T) {
	followed(t, nil, func(t *testing.T, f *resolve.Follower, s *servers) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var asking sync.WaitGroup
		for i := range 50 {
			asking.Go(func() {
				q := resolve.Question{Name: fmt.Sprintf("dead%d.example", i)}
				if _, err := f.Ask(ctx, q); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v", err)
				}
			})
		}
		asking.Wait()
		if _, err := f.Ask(ctx, resolve.Question{Name: "other.example"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Minute)
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.begun) != 16 {
			t.Errorf("%d names were queried", len(s.begun))
		}
	})
}

func TestAFailureIsRemembered(t *testing.T) {
	followed(t, nil, func(t *testing.T, f *resolve.Follower, s *servers) {
		q := resolve.Question{Name: "dead.example"}
		for _, c := range []struct {
			wait    time.Duration
			queries int
		}{{0, 1}, {0, 1}, {4 * time.Second, 1}, {2 * time.Second, 2}} {
			time.Sleep(c.wait)
			if _, err := f.Ask(t.Context(), q); !errors.Is(err, errSilent) || len(s.asked(q.Name)) != c.queries {
				t.Errorf("%v, %d queries, want %d", err, len(s.asked(q.Name)), c.queries)
			}
		}
	})
}

// The time for which a name waits for its turn is not part of the time of its query.
func TestQueuedNamesHaveTheFullQueryTimeout(t *testing.T) {
	var names []string
	for i := range 150 { // some begin after 40 s
		names = append(names, fmt.Sprintf("late%d.example", i))
	}
	followed(t, names, func(t *testing.T, f *resolve.Follower, _ *servers) {
		time.Sleep(90 * time.Second)
		for _, name := range names {
			if s, _ := f.Look(resolve.Question{Name: name}); len(s.Targets) != 1 {
				t.Errorf("%s: %+v", name, s)
			}
		}
	})
}
