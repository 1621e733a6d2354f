package marks

import (
	"errors"
	"fmt"
	"time"

	"github.com/sluicelb/sluice/core/shm"
)

// run fills reserves until Close.
func (r *Reserve) run() {
	defer close(r.done)
	for {
		made, err := r.fill()
		r.report(made, err)
		next := r.sweep(time.Now())
		low := r.low
		if err != nil {
			next, low = pause, nil // a loop without sockets must not shorten the pause
		}
		var again <-chan time.Time
		if next > 0 {
			again = time.After(next)
		}
		select {
		case <-low:
		case <-r.hurry:
		case <-again:
		case <-r.stop:
			return
		}
	}
}

// report logs once when netd stops making sockets, and once when it resumes.
func (r *Reserve) report(made bool, err error) {
	switch {
	case err != nil && r.failed == nil:
		r.log.Warn("sockets with a mark cannot be had", "cause", err)
		r.failed = err
	case err == nil && made && r.failed != nil:
		r.log.Info("sockets with a mark can be had again")
		r.failed = nil
	}
}

// fill requests sockets until all reserves are full, empty ones first. made reports
// whether any arrived. problem is the error of a request that yielded none.
func (r *Reserve) fill() (made bool, problem error) {
	defer r.renew()
	r.grow()
	for asked := true; asked && problem == nil; {
		asked = false
		for _, empty := range []bool{true, false} {
			for k, s := range *r.kinds.Load() {
				n, round := s.missing()
				if n == 0 || empty && !s.empty() {
					continue
				}
				err := r.ask(k, min(n, MaxCount))
				switch {
				case err == nil:
					asked, made = true, true
				case errors.Is(err, errTalk):
					return made, err // other requests would fail as well
				default:
					s.refuse(round, err)
					problem = err
				}
			}
			r.renew()
		}
	}
	return made, problem
}

// errTalk is wrapped by errors of the channel, as opposed to errors of a kind.
var errTalk = errors.New("no answer")

// ask sends one request and puts the sockets received into the reserves.
func (r *Reserve) ask(k Kind, count int) error {
	r.number++
	end := time.Now().Add(patience)
	_ = r.conn.SetDeadline(end)
	select {
	case <-r.stop: // Close has set its own deadline just before
		return errTalk
	default:
	}
	if err := shm.Send(r.conn, Request{r.number, k, count}.AppendTo(r.buf[:0])); err != nil {
		return fmt.Errorf("%w: %w", errTalk, talkError(err))
	}
	for {
		n, fds, err := shm.ReceiveDescriptors(r.conn, r.buf)
		if err != nil {
			return fmt.Errorf("%w: %w", errTalk, talkError(err))
		}
		a, err := ParseAnswer(r.buf[:n])
		if err != nil || a.Count != len(fds) {
			shm.CloseDescriptors(fds)
			continue
		}
		r.take(a.Kind, fds)
		if a.Number == r.number {
			return errorOf(a.Code)
		}
	}
}

// take puts sockets into the reserve of their kind, even if they answer another
// request.
func (r *Reserve) take(k Kind, fds []int) {
	if s := (*r.kinds.Load())[k]; s != nil && len(fds) > 0 {
		fds = s.put(fds)
		r.quick.Store(true)
		if r.waiting.Load() > 0 {
			r.renew()
		}
	}
	shm.CloseDescriptors(fds)
}
