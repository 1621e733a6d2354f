package ratelimit_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/ratelimit"
)

const second = int64(time.Second)

// bucket is the reference model: a leaky bucket filled by requests.
type bucket struct{ level, at, interval, burst int64 }

func (b *bucket) take(now int64) (wait int64) {
	b.level = max(0, b.level-(now-b.at))
	b.at = now
	if over := b.level + b.interval - b.interval*b.burst; over > 0 {
		return over
	}
	b.level += b.interval
	return 0
}

func TestALimitIsALeakyBucket(t *testing.T) {
	t.Parallel()
	for range 200 {
		requests, period, burst := 1+rand.IntN(50), time.Duration(1+rand.IntN(5))*time.Second, 1+rand.IntN(20)
		name := fmt.Sprintf("%d in %v, %d at once", requests, period, burst)
		limit := ratelimit.New(requests, period, burst)
		interval := int64(period) / int64(requests)
		table, key := ratelimit.NewTable(), ratelimit.Key(1+rand.Uint64N(1<<63))
		now := second
		model := bucket{at: now, interval: interval, burst: int64(burst)}
		var passed []int64
		for range 500 {
			now += rand.Int64N(2 * interval)
			want := model.take(now)
			if got := table.Peek(key, now, limit); got != want {
				t.Fatalf("%s: Peek returns %d, the model %d", name, got, want)
			}
			if got := table.Take(key, now, limit); got != want {
				t.Fatalf("%s: Take returns %d, the model %d", name, got, want)
			}
			if want == 0 {
				passed = append(passed, now)
			} else if table.Peek(key, now+want, limit) != 0 || table.Take(key, now+want-1, limit) != 1 {
				t.Fatalf("%s: it does not pass after the wait, or before", name)
			}
		}
		for i := range passed {
			for j := i; j < len(passed); j++ {
				if most := int64(burst) + (passed[j]-passed[i])/interval; int64(j-i+1) > most {
					t.Fatalf("%s: %d passed in %d ns, at most %d may", name, j-i+1, passed[j]-passed[i], most)
				}
			}
		}
	}
}

func TestSteadyPaceIsNeverRefused(t *testing.T) {
	t.Parallel()
	limit, table := ratelimit.New(7, time.Second, 1), ratelimit.NewTable()
	for i := range int64(10000) {
		if wait := table.Take(1, second+i*second/7+i%2, limit); wait > 1 {
			t.Fatalf("request %d waits %d ns", i, wait)
		}
	}
}

func TestTheWidestLimitsDoNotOverflow(t *testing.T) {
	t.Parallel()
	table := ratelimit.NewTable()
	limit := ratelimit.New(1, time.Hour, 1_000_000)
	for range 1_000_000 {
		if table.Take(1, second, limit) != 0 {
			t.Fatal("refused within the burst")
		}
	}
	if wait := table.Take(1, second, limit); wait != int64(time.Hour) {
		t.Errorf("wait %v, want an hour", time.Duration(wait))
	}
	fast := ratelimit.New(1_000_000, time.Second, 1)
	if table.Take(2, second, fast) != 0 || table.Take(2, second, fast) != 1000 {
		t.Error("a million per second must be a microsecond apart")
	}
}

func TestKeysOfAddresses(t *testing.T) {
	t.Parallel()
	table := ratelimit.NewTable()
	at := func(s string) ratelimit.Key { return table.Address(netip.MustParseAddr(s)) }
	if at("192.0.2.1") != at("::ffff:192.0.2.1") {
		t.Error("a mapped address is another client")
	}
	if at("192.0.2.1") == at("192.0.2.2") {
		t.Error("neighbours are one client")
	}
	if at("2001:db8:1:2::1") != at("2001:db8:1:2:ffff::9") {
		t.Error("two addresses of a /64 are two clients")
	}
	if at("2001:db8:1:2::1") == at("2001:db8:1:3::1") {
		t.Error("two /64 are one client")
	}
	if a := netip.MustParseAddr("192.0.2.1").As16(); table.Text(a[:]) == at("192.0.2.1") {
		t.Error("the text reveals an address")
	}
	if ratelimit.NewTable().Address(netip.MustParseAddr("192.0.2.1")) == at("192.0.2.1") {
		t.Error("the key equals that of another table")
	}
}

func TestARefundLetsAnotherRequestPass(t *testing.T) {
	t.Parallel()
	table, limit := ratelimit.NewTable(), ratelimit.New(1, time.Hour, 3)
	for range 10 {
		if wait := table.Take(1, second, limit); wait != 0 {
			t.Fatalf("refused for %v though all was refunded", time.Duration(wait))
		}
		table.Refund(1, limit)
	}
	table.Refund(2, limit) // an unknown key
	for range 5 {
		table.Refund(1, limit) // more than was taken
	}
	for i := range 5 {
		if passed := table.Take(1, 2*second, limit) == 0; passed != (i < 3) {
			t.Errorf("request %d of a burst of 3 passed: %v", i+1, passed)
		}
	}
}

// A key without a slot evicts the key with the smallest debt. The debts of other keys
// stay exactly the same.
func TestNewKeyDisplacesTheLeastIndebted(t *testing.T) {
	t.Parallel()
	limit, table := ratelimit.New(1, time.Second, 10), ratelimit.NewTable()
	key := func(i int) ratelimit.Key { return ratelimit.Key(i<<13 + 1) } // all in one bucket
	owe := func(after int64, want ...int64) {
		t.Helper()
		for i, n := range want {
			if got := table.Owes(key(i), second+after, limit); got != n {
				t.Errorf("key %d owes %d requests %v later, want %d", i, got, time.Duration(after), n)
			}
		}
	}
	owe(0, 0, 0)
	if table.Peek(key(0), second, limit) != 0 || table.Owes(2, second, limit) != 0 {
		t.Error("a key without requests owes something")
	}
	for i, n := range []int{5, 2, 6, 3, 7, 8, 9, 10} {
		for range n {
			if table.Take(key(i), second, limit) != 0 {
				t.Fatalf("key %d is refused within its burst", i)
			}
		}
	}
	owe(0, 5, 2, 6, 3, 7, 8, 9, 10)
	owe(1, 5, 2, 6, 3, 7, 8, 9, 10)
	owe(second, 4, 1, 5, 2, 6, 7, 8, 9)
	owe(2*second-1, 4, 1, 5, 2, 6, 7, 8, 9)
	owe(2*second, 3, 0, 4, 1, 5, 6, 7, 8)
	if table.Take(key(7), second, limit) == 0 {
		t.Error("a key at its limit passes")
	}
	table.Take(key(8), second, limit)
	table.Take(key(8), second, limit)
	table.Take(key(8), second, limit)
	owe(0, 5, 0, 6, 3, 7, 8, 9, 10, 3)
	table.Take(key(9), second, limit)
	table.Take(key(9), second+20*second, limit) // all debts are paid off
	table.Take(key(10), second+20*second, limit)
	owe(20*second, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1)
}
