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
			next, low = pause, nil // loops that find nothing would only hurry
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

// report says once that netd makes no sockets, and once that it does again.
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

// fill asks until no reserve misses any: first for those that have none. made
// says that some came, the error is that of a request which brought nothing.
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
					return made, err // no other request would fare better
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

// errTalk is in errors that say nothing about a kind.
var errTalk = errors.New("no answer")

// ask makes one request and puts what comes into the reserves.
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

// take puts sockets where they belong, whoever asked for them.
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
