package resolve_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/mgmt/resolve"
)

// book answers from memory and counts.
type book struct {
	mu      sync.Mutex
	answers map[string]resolve.Answer
	err     error
	asked   map[string]int
	at      []time.Time
}

func (b *book) lookup(_ context.Context, q resolve.Question) (resolve.Answer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked[q.Name]++
	b.at = append(b.at, time.Now())
	if a, ok := b.answers[q.Name]; ok && b.err == nil {
		return a, nil
	}
	if b.err != nil {
		return resolve.Answer{}, b.err
	}
	return resolve.Answer{}, resolve.ErrNoName
}

func (b *book) set(name string, ttl time.Duration, addrs ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := resolve.Answer{TTL: ttl}
	for _, s := range addrs {
		a.Targets = append(a.Targets, resolve.Target{Addr: netip.MustParseAddr(s)})
	}
	b.answers[name] = a
}

func (b *book) fail(err error) { b.mu.Lock(); b.err = err; b.mu.Unlock() }

func (b *book) count(name string) int { b.mu.Lock(); defer b.mu.Unlock(); return b.asked[name] }

// follow runs a follower of names in a bubble with its own clock.
func follow(t *testing.T, names []string, do func(f *resolve.Follower, b *book, changes *atomic.Int64, log *bytes.Buffer)) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{answers: map[string]resolve.Answer{}, asked: map[string]int{}}
		var changes atomic.Int64
		var log bytes.Buffer
		f := resolve.New(resolve.Options{
			Lookup: b.lookup, Changed: func(context.Context) { changes.Add(1) }, Log: slog.New(slog.NewTextHandler(&log, nil)),
			Wanted: func() (out []resolve.Question) {
				for _, name := range names {
					out = append(out, resolve.Question{Name: name})
				}
				return out
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		b.set("db.example", 20*time.Second, "10.0.0.1")
		go func() { defer close(done); f.Run(ctx) }()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		do(f, b, &changes, &log)
		cancel()
		<-done
	})
}

func targetsOf(f *resolve.Follower, name string) string {
	s, _ := f.Look(resolve.Question{Name: name})
	return fmt.Sprintf("%v %s", s.Targets, s.Problem)
}

func TestNamesAreRefreshedByTTL(t *testing.T) {
	follow(t, []string{"db.example", "db.example"}, func(f *resolve.Follower, b *book, changes *atomic.Int64, log *bytes.Buffer) {
		if b.count("db.example") != 1 || changes.Load() != 1 {
			t.Fatalf("%d queries, %d changes", b.count("db.example"), changes.Load())
		}
		time.Sleep(15 * time.Second)
		if b.count("db.example") != 1 {
			t.Fatalf("%d queries before the TTL ended", b.count("db.example"))
		}
		b.set("db.example", 0, "10.0.0.2", "10.0.0.3") // a TTL of 0 acts as the least
		time.Sleep(5 * time.Second)
		if got := targetsOf(f, "db.example"); got != "[10.0.0.2 10.0.0.3] " || changes.Load() != 2 {
			t.Errorf("%s, %d changes", got, changes.Load())
		}
		before := b.count("db.example")
		time.Sleep(60 * time.Second)
		if n := b.count("db.example") - before; n < 10 || n > 15 {
			t.Errorf("%d queries in a minute, with the least TTL 5 s", n)
		}
		if changes.Load() != 2 {
			t.Errorf("%d changes reported, want none", changes.Load())
		}
		b.set("db.example", 1000*time.Hour, "10.0.0.2")
		time.Sleep(10 * time.Second)
		before = b.count("db.example")
		time.Sleep(61 * time.Minute)
		if n := b.count("db.example") - before; n != 1 {
			t.Errorf("%d queries in an hour, with the longest TTL 1 h", n)
		}
		if !strings.Contains(log.String(), `msg="addresses of a name changed" name=db.example addresses="[10.0.0.2 10.0.0.3]" before=[10.0.0.1]`) {
			t.Errorf("log:\n%s", log.String())
		}
	})
}

func TestAddressesAreKeptDuringAnOutage(t *testing.T) {
	for _, err := range []error{errors.New("name server 10.0.0.53:53: it answers SERVFAIL"), resolve.ErrNoName} {
		follow(t, []string{"db.example", "never.example"}, func(f *resolve.Follower, b *book, changes *atomic.Int64, log *bytes.Buffer) {
			b.fail(err)
			time.Sleep(5 * time.Minute)
			s, ok := f.Look(resolve.Question{Name: "db.example"})
			if !ok || len(s.Targets) != 1 || s.Problem != err.Error() || s.Gone != (err == resolve.ErrNoName) || time.Since(s.Answered) < 4*time.Minute {
				t.Errorf("%+v", s)
			}
			if s, ok := f.Look(resolve.Question{Name: "never.example"}); !ok || len(s.Targets) != 0 || s.Problem == "" || !s.Answered.IsZero() {
				t.Errorf("%+v %v", s, ok)
			}
			if n := b.count("db.example"); n < 6 || n > 14 { // 1, 2, 4 … 60 s apart
				t.Errorf("%d queries in five minutes", n)
			}
			if n := strings.Count(log.String(), "its last addresses are kept"); n != 1 {
				t.Errorf("logged %d times:\n%s", n, log.String())
			}
			b.fail(nil)
			time.Sleep(time.Minute)
			if got := targetsOf(f, "db.example"); got != "[10.0.0.1] " || !strings.Contains(log.String(), "name is resolved again") {
				t.Errorf("%s\n%s", got, log.String())
			}
		})
	}
}

func TestUnknownFamilyKeepsItsAddresses(t *testing.T) {
	follow(t, []string{"db.example"}, func(f *resolve.Follower, b *book, _ *atomic.Int64, _ *bytes.Buffer) {
		b.set("db.example", time.Second, "10.0.0.1", "2001:db8::1")
		time.Sleep(30 * time.Second)
		b.set("db.example", time.Second, "10.0.0.2")
		b.mu.Lock()
		a := b.answers["db.example"]
		a.Unknown6 = true
		b.answers["db.example"] = a
		b.mu.Unlock()
		time.Sleep(10 * time.Second)
		if got := targetsOf(f, "db.example"); got != "[10.0.0.2 2001:db8::1] " {
			t.Error(got)
		}
	})
}

func TestQueriesAreBoundedAndSpread(t *testing.T) {
	var names []string
	for i := range 500 {
		names = append(names, fmt.Sprintf("n%d.example", i))
	}
	follow(t, names, func(f *resolve.Follower, b *book, _ *atomic.Int64, _ *bytes.Buffer) {
		b.mu.Lock()
		first, early := b.at[0], 0
		for _, at := range b.at {
			if at.Sub(first) < time.Second {
				early++
			}
		}
		b.mu.Unlock()
		if early > 100 {
			t.Errorf("%d questions in the first second", early)
		}
		for _, name := range names {
			b.set(name, time.Minute, "10.0.0.1")
		}
		time.Sleep(3 * time.Minute)
		seconds := map[time.Time]bool{}
		b.mu.Lock()
		for _, at := range b.at[len(b.at)-500:] {
			seconds[at.Truncate(500*time.Millisecond)] = true
		}
		b.mu.Unlock()
		if len(seconds) < 10 {
			t.Errorf("500 questions in %d half seconds", len(seconds))
		}
	})
}

func TestTruncatedAnswerIsLoggedOnce(t *testing.T) {
	follow(t, []string{"db.example"}, func(f *resolve.Follower, b *book, _ *atomic.Int64, log *bytes.Buffer) {
		for range 2 {
			b.set("db.example", time.Second, "10.0.0.1")
			b.mu.Lock()
			a := b.answers["db.example"]
			a.Cut = true
			b.answers["db.example"] = a
			b.mu.Unlock()
			time.Sleep(time.Minute)
			b.set("db.example", time.Second, "10.0.0.1") // short again, and later too long again
			time.Sleep(time.Minute)
		}
		if n := strings.Count(log.String(), "more addresses than are used"); n != 2 {
			t.Errorf("logged %d times, want twice", n)
		}
	})
}

// Some servers of a service have a new answer, and the address of others is unknown.
func TestNewAndKeptTargetsAreMerged(t *testing.T) {
	follow(t, []string{"_http._tcp.example"}, func(f *resolve.Follower, b *book, _ *atomic.Int64, log *bytes.Buffer) {
		serve := func(unknown bool, weight uint16, addrs ...string) {
			b.set("_http._tcp.example", time.Second, addrs...)
			b.mu.Lock()
			a := b.answers["_http._tcp.example"]
			a.Unknown4 = unknown
			for i := range a.Targets {
				a.Targets[i].Port, a.Targets[i].Weight = 80, weight
			}
			b.answers["_http._tcp.example"] = a
			b.mu.Unlock()
			time.Sleep(10 * time.Minute)
		}
		serve(false, 1, "10.0.0.1", "10.0.0.2")
		serve(true, 2, "10.0.0.1")
		s, _ := f.Look(resolve.Question{Name: "_http._tcp.example"})
		if fmt.Sprint(s.Targets) != "[10.0.0.1:80 10.0.0.2:80]" || s.Targets[0].Weight != 2 {
			t.Errorf("%+v", s.Targets)
		}
		if n := strings.Count(log.String(), "addresses of a name changed"); n > 1 {
			t.Errorf("%d logged changes of addresses:\n%.600s", n, log.String())
		}
		var many []string
		for i := range resolve.MaxTargets {
			many = append(many, fmt.Sprintf("10.0.1.%d", i))
		}
		serve(true, 1, many...)
		if s, _ := f.Look(resolve.Question{Name: "_http._tcp.example"}); len(s.Targets) != resolve.MaxTargets {
			t.Errorf("%d targets", len(s.Targets))
		}
	})
}
