package rest

import (
	"net/http"
	"sync"

	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Seats bounds the number of concurrent streams of a kind. A quarter is reserved for root. Of
// the others, each user gets at most half as many as are still free, so that heavy users
// leave some for later users. Use a pointer to it.
type Seats struct {
	// Most is the total; set it before use.
	Most int

	mu    sync.Mutex
	taken map[string]int // by user
}

// Seat takes a seat for the caller until leave is called.
func (c *Call) Seat(in *Seats) (leave func(), err error) {
	user := c.By.Who.Name()
	if !in.take(user) {
		return nil, Refuse(http.StatusServiceUnavailable, "too many streams are open: %d at most, and one user may open half as many as are free; wait until one has ended", in.Most)
	}
	return sync.OnceFunc(func() { in.leave(user) }), nil
}

func (s *Seats) take(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := 0
	for _, n := range s.taken {
		all += n
	}
	free := s.Most - s.Most/4 - (all - s.taken[rbac.Root])
	if all >= s.Most || user != rbac.Root && 2*s.taken[user] >= free {
		return false
	}
	if s.taken == nil {
		s.taken = map[string]int{}
	}
	s.taken[user]++
	return true
}

func (s *Seats) leave(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[user]--; s.taken[user] == 0 {
		delete(s.taken, user)
	}
}
