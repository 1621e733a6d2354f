package rest

import (
	"net/http"
	"sync"

	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Seats bounds the number of concurrent streams of a kind. One user other than root gets at
// most a quarter, and a quarter is reserved for root, so nobody can lock others out. Use a
// pointer to it.
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
		return nil, Refuse(http.StatusServiceUnavailable, "too many streams are open: %d at most, and %d of one user; wait until one has ended", in.Most, in.Most/4)
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
	others := all - s.taken[rbac.Root]
	if all >= s.Most || user != rbac.Root && (s.taken[user] >= s.Most/4 || others >= s.Most-s.Most/4) {
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
