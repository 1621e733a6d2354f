package rest

import (
	"fmt"
	"testing"

	"github.com/sluicelb/sluice/mgmt/rbac"
)

// fill takes seats until one is refused.
func (s *Seats) fill(user string) (n int) {
	for s.take(user) {
		n++
	}
	return n
}

// Users who take all they get leave seats for later users, and for root.
func TestSeatsAreLeftForOthers(t *testing.T) {
	s := &Seats{Most: 48}
	if n := s.fill("first"); n != 12 {
		t.Errorf("the first user got %d seats", n)
	}
	last := 12
	for i := range 6 {
		n := s.fill(fmt.Sprint("user", i))
		if n == 0 || n > last {
			t.Errorf("user %d got %d seats, the one before %d", i, n, last)
		}
		last = n
	}
	if n := s.fill(rbac.Root); n < 12 {
		t.Errorf("root got %d seats", n)
	}
	if s.take("late") {
		t.Error("there are more seats than there should be")
	}
	s.leave("first")
	if !s.take("late") {
		t.Error("a released seat is not given out again")
	}
}

func TestAllSeatsAreForRoot(t *testing.T) {
	s := &Seats{Most: 8}
	if n := s.fill(rbac.Root); n != 8 {
		t.Errorf("root got %d seats of 8", n)
	}
	if s.take("ann") || s.take(rbac.Root) {
		t.Error("there are more than 8")
	}
}
