package ratelimit_test

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/ratelimit"
)

func TestExactlyTheBurstPassesFromEightGoroutines(t *testing.T) {
	t.Parallel()
	const burst, clients, rounds = 1000, 16, 5
	limit, table := ratelimit.New(1, time.Hour, burst), ratelimit.NewTable()
	for round := range int64(rounds) {
		var passed [clients]atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for i := range 4 * burst * clients / 8 {
					client := i % clients
					if table.Take(ratelimit.Key(1+round*clients+int64(client)), second+rand.Int64N(1000), limit) == 0 {
						passed[client].Add(1)
					}
				}
			})
		}
		wg.Wait()
		for i := range passed {
			if n := passed[i].Load(); n != burst {
				t.Fatalf("round %d: %d requests of client %d passed, want %d", round, n, i, burst)
			}
		}
	}
}

// rotated returns the key of an attacker's request.
func rotated(table *ratelimit.Table, i uint64) ratelimit.Key {
	return table.Text(binary.BigEndian.AppendUint64(nil, i))
}

func TestManyKeysTakeNoMoreMemoryThanTheTable(t *testing.T) {
	limit, table := ratelimit.New(10, time.Minute, 10), ratelimit.NewTable()
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for i := range uint64(200_000) {
		if table.Take(rotated(table, i), second, limit) != 0 {
			t.Fatalf("key %d is refused at its first request", i)
		}
	}
	const most = 16*ratelimit.Slots + 64<<10
	if grown := heap() - before; grown > most {
		t.Errorf("%d bytes for these keys, at most %d expected", grown, most)
	}
	runtime.KeepAlive(table)
}

func TestAKeyAtItsLimitStaysThereWhileOthersRotate(t *testing.T) {
	t.Parallel()
	limit, table := ratelimit.New(10, time.Minute, 10), ratelimit.NewTable()
	const victims = 100
	for v := range uint64(victims) {
		for range 10 {
			table.Take(rotated(table, 1<<40+v), second, limit)
		}
	}
	for i := range uint64(200_000) {
		table.Take(rotated(table, i), second+int64(i), limit)
	}
	for v := range uint64(victims) {
		if table.Take(rotated(table, 1<<40+v), second+200_000, limit) == 0 {
			t.Errorf("key %d passes although it used all it had", v)
		}
	}
}

func TestFewKeysAreForgottenWhileAQuarterOfTheTableIsInUse(t *testing.T) {
	t.Parallel()
	limit, table := ratelimit.New(1, time.Hour, 1), ratelimit.NewTable()
	const keys = ratelimit.Slots / 4
	for i := range uint64(keys) {
		table.Take(rotated(table, i), second, limit)
	}
	forgotten := 0
	for i := range uint64(keys) {
		if table.Peek(rotated(table, i), second, limit) == 0 {
			forgotten++
		}
	}
	if forgotten > keys/1000 {
		t.Errorf("%d of %d keys are forgotten", forgotten, keys)
	}
}

func TestExpiredSlotIsReused(t *testing.T) {
	t.Parallel()
	limit, table := ratelimit.New(1, time.Second, 1), ratelimit.NewTable()
	for round := range int64(20) {
		now := second + 2*round*second
		for i := range uint64(ratelimit.Slots / 8) {
			k := rotated(table, uint64(round)<<32+i)
			if table.Take(k, now, limit) != 0 {
				t.Fatalf("round %d: a new key is refused", round)
			}
			if table.Take(k, now, limit) == 0 {
				t.Fatalf("round %d: a key is evicted although others owe nothing", round)
			}
		}
	}
}

// While loops evict each other's keys, a key is rejected only because of its own
// requests and at most one misplaced charge.
func TestDisplacedKeysUnderContentionAreNotRefused(t *testing.T) {
	t.Parallel()
	limit, table := ratelimit.New(1, time.Hour, 3), ratelimit.NewTable()
	var wg sync.WaitGroup
	for g := range uint64(8) {
		wg.Go(func() {
			for i := range uint64(20_000) {
				if table.Take(rotated(table, g<<40+i), second, limit) != 0 {
					t.Errorf("goroutine %d: a new key is refused", g)
					return
				}
			}
		})
	}
	wg.Wait()
}
