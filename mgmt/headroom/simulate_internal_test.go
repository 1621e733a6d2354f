//go:build !race

// The simulation is sequential, and takes minutes with the race detector.

package headroom

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/stats"
)

// server is a simulated backend: requests arrive at random and wait in one queue for one
// of its slots (M/M/c, or M/G/c with another distribution).
type server struct {
	rand    *rand.Rand
	free    []float64 // times at which slots become free, in seconds
	now     float64
	service func(*rand.Rand) float64
	under   []float64 // start and end of requests in flight
	backend stats.Backend
	times   stats.Times
}

func newServer(seed uint64, slots int, service func(*rand.Rand) float64) *server {
	return &server{rand: rand.New(rand.NewPCG(seed, 1)), free: make([]float64, slots), service: service}
}

// exponential returns an exponential service time with the mean.
func exponential(mean float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return mean * r.ExpFloat64() }
}

// lognormal returns a log-normal service time with the mean and the coefficient of
// variation cv.
func lognormal(mean, cv float64) func(*rand.Rand) float64 {
	sigma := math.Sqrt(math.Log(1 + cv*cv))
	return func(r *rand.Rand) float64 { return mean * math.Exp(sigma*r.NormFloat64()-sigma*sigma/2) }
}

// run simulates requests at a rate for five seconds, and returns the count.
func (s *server) run(rate float64) Count {
	const step = 5
	end := s.now + step
	for at := s.now; rate > 0; {
		if at += s.rand.ExpFloat64() / rate; at > end {
			break
		}
		slot := 0
		for i := range s.free {
			if s.free[i] < s.free[slot] {
				slot = i
			}
		}
		done := max(at, s.free[slot]) + s.service(s.rand)
		s.free[slot] = done
		s.backend.Requests++
		s.under = append(s.under, at, done)
	}
	s.now = end
	left := s.under[:0]
	for pair := range slices.Chunk(s.under, 2) {
		if pair[1] > end {
			left = append(left, pair...)
			continue
		}
		took := int64((pair[1] - pair[0]) * 1e9)
		s.times.FirstByte.Observe(took)
		s.times.Total.Observe(took)
	}
	s.under = left
	s.backend.Established = uint64(len(left) / 2)
	return CountOf(begin.Add(time.Duration(end*float64(time.Second))), &s.backend, &s.times)
}

// day simulates a day, in which load rises and falls between two shares of the capacity.
func (s *server) day(b *backend, low, high, capacity float64) {
	for i := range 24 * 720 {
		share := low + (high-low)*(1-math.Cos(2*math.Pi*float64(i)/(24*720)))/2
		b.observe(s.run(share * capacity))
	}
}
