package state_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/sluicelb/sluice/l7/state"
)

// start is a time on the clock of loops, at the beginning of a second.
const start = int64(1000 * time.Second)

// retries counts how many of n retries the budget of 20 percent lets through.
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
	// The second after, requests and retries of the first are forgotten; the 150
	// of the tenth are not.
	if n := retries(&s, end, 10); n != 0 {
		t.Errorf("after the requests were forgotten %d pass", n)
	}
	if n := retries(&s, end+int64(9*time.Second), 100); n != 10 {
		t.Errorf("after all was forgotten %d pass, want 10", n)
	}
	s.Request(end + int64(10*time.Second)) // the slot of a second that is over
	if n := retries(&s, end+int64(10*time.Second), 100); n != 0 {
		t.Errorf("after another ten retries %d pass", n)
	}
}

// Loops count side by side: no two of them in one cache line.
func TestBudgetsShareNoCacheLine(t *testing.T) {
	if n := unsafe.Sizeof(state.Spent{}); n%64 != 0 {
		t.Errorf("a budget has %d bytes", n)
	}
}
