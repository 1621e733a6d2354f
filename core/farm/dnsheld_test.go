package farm_test

import (
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

func TestLongerTTLIsKeptWhileCachesMayHoldAnswers(t *testing.T) {
	const begin, day = 1_800_000_000, 86400
	at := func(seconds int64) time.Time { return time.Unix(begin+seconds, 0) }
	var none farm.HeldTTL
	lowered := none.Lowered(7*day, day, at(0))
	for _, c := range []struct {
		what  string
		held  farm.HeldTTL
		since int64
		ttl   farm.Seconds
		want  int64
	}{
		{"nothing changed", none, 0, 60, 60},
		{"raised", none.Lowered(60, 3600, at(0)), 0, 3600, 3600},
		{"lowered after", lowered, -day, day, 6 * day},
		{"lowered before", lowered, 2 * day, 60, 7 * day},
		{"lowered long before", lowered, 9 * day, day, 10 * day},
		{"lowered long after", lowered, -30 * day, day, -23 * day},
		{"lowered twice", lowered.Lowered(day, 60, at(day)), 0, 60, 7 * day},
		{"lowered twice, the second one lasts", none.Lowered(day, 60, at(0)).Lowered(day, 60, at(day/2)), day / 2, 60, day + day/2},
		{"raised and lowered in between", none.Lowered(day, 60, at(0)).Lowered(60, 7*day, at(day/2)).Lowered(7*day, 60, at(day/2)), 0, 60, 7 * day},
		{"lowered again when nothing is held", none.Lowered(7*day, 60, at(0)).Lowered(60, 1, at(8*day)), 8 * day, 1, 8*day + 60},
	} {
		if got := c.held.Gone(begin+c.since, c.ttl); !got.Equal(at(c.want)) {
			t.Errorf("%s: %d seconds after, want %d", c.what, got.Unix()-begin, c.want)
		}
	}
}
