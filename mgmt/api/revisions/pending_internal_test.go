package revisions

import (
	"testing"
	"time"
)

func TestSecondsThatAreLeft(t *testing.T) {
	for left, want := range map[time.Duration]int64{
		-time.Second: 0, 0: 0, time.Nanosecond: 1, 1500 * time.Millisecond: 2, time.Minute: 60,
	} {
		if got := secondsLeft(left); got != want {
			t.Errorf("of %s: %d, want %d", left, got, want)
		}
	}
}
