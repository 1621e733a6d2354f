package state_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/sluicelb/sluice/l7/state"
)

// start is a time on the loops' clock at the beginning of a second.
const start = int64(1000 * time.Second)

// retries returns how many of n retries a budget of 20 percent allows.
func retries(s *state.Spent, now int64, n int) (passed int) {
	for range n {
		if s.Retry(now, 20) {
			passed++
		}
	}
	return passed
}

func TestAFewRetriesAreFree(t *testing.T) {
	var s state.Spent
	if n := retries(&s, start, 100); n != 10 {
		t.Errorf("without a request %d retries pass, want 10", n)
	}
}

func TestRetriesAreAShareOfTheRequests(t *testing.T) {
	var s state.Spent
	for i := range 1000 {
		s.Request(start + int64(i)*int64(time.Second)/100) // over ten seconds
	}
	if n := retries(&s, start+int64(9*time.Second), 1000); n != 200 {
		t.Errorf("of 1000 requests %d are repeated, want 200", n)
	}
	if n := retries(&s, start+int64(9*time.Second)+int64(time.Second)-1, 10); n != 0 {
		t.Errorf("beyond the budget %d more are", n)
	}
}

func TestABudgetLooksTenSecondsBack(t *testing.T) {
	var s state.Spent
	for range 1000 {
		s.Request(start)
	}
	if n := retries(&s, start, 50); n != 50 {
		t.Fatalf("%d of 50 pass", n)
	}
	end := start + int64(10*time.Second)
	if n := retries(&s, end-1, 1000); n != 150 {
		t.Errorf("in the tenth second %d more pass, want 150", n)
	}
	// One second later, requests and retries of the first second have expired, but not the
	// 150 of the tenth.
	if n := retries(&s, end, 10); n != 0 {
		t.Errorf("after the requests were forgotten %d pass", n)
	}
	if n := retries(&s, end+int64(9*time.Second), 100); n != 10 {
		t.Errorf("after all was forgotten %d pass, want 10", n)
	}
	s.Request(end + int64(10*time.Second)) // in the slot of an expired second
	if n := retries(&s, end+int64(10*time.Second), 100); n != 0 {
		t.Errorf("after another ten retries %d pass", n)
	}
}

// Loops count independently: no two share a cache line.
func TestBudgetsShareNoCacheLine(t *testing.T) {
	if n := unsafe.Sizeof(state.Spent{}); n%64 != 0 {
		t.Errorf("a budget has %d bytes", n)
	}
}
