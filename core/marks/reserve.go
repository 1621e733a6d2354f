package marks

import (
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/shm"
)

const (
	// first is how many sockets of a kind are kept to begin with, and most after
	// bursts that found none left: each doubles it. With very many kinds it is
	// least; all together stay below total.
	first, most, least, total = 256, 2048, 4, 8192
	// pause is the time between two requests while netd makes none.
	pause = 250 * time.Millisecond
)

// Tests change these.
var (
	// patience is how long an answer may take; netd needs well below a
	// millisecond.
	patience = 250 * time.Millisecond
	// shortly is how long a loop may wait for netd: long enough for one that has
	// to be given a CPU, short enough for the other connections of the loop.
	shortly = 10 * time.Millisecond
	// linger is how long sockets of a mark nobody uses any more are kept:
	// exchanges under way finish on the table they began with.
	linger = 10 * time.Second
)

// Reserve holds sockets that have a mark, by kind. Any goroutine may call its
// methods.
type Reserve struct {
	conn  *net.UnixConn
	log   *slog.Logger
	kinds atomic.Pointer[map[Kind]*stack]
	mu    sync.Mutex        // one change of kinds at a time
	low   chan struct{}     // a reserve is half gone
	hurry chan struct{}     // somebody waits: even a pause is cut short
	users map[string][]Kind // what each user keeps; under mu
	stop  chan struct{}
	done  chan struct{}
	news  atomic.Pointer[chan struct{}] // closed when some answers came
	quick atomic.Bool                   // netd brought what was asked last
	// waiting is how many loops wait for sockets right now.
	waiting atomic.Int32
	number  uint32 // of the last request; the goroutine's, as all below
	failed  error  // what the log says is wrong
	buf     []byte
}

// New returns an empty reserve that asks netd over conn, which it owns from
// here on. Close ends it.
func New(conn *net.UnixConn, log *slog.Logger) *Reserve {
	r := &Reserve{
		conn: conn, log: log,
		low: make(chan struct{}, 1), hurry: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
		// Answers to an engine that died are not taken for ours.
		number: rand.Uint32(), buf: make([]byte, MessageSize+1),
	}
	r.users = map[string][]Kind{}
	r.kinds.Store(&map[Kind]*stack{})
	r.renew()
	go r.run()
	return r
}

// Socket takes an unconnected, non-blocking TCP socket with the mark; the
// caller owns it. ErrNone when there is none: a burst that empties a reserve
// waits the fraction of a millisecond netd takes, but when it takes longer than
// shortly nobody waits again before netd has answered.
func (r *Reserve) Socket(v6 bool, mark uint32) (fd int, err error) {
	return r.socket(Kind{Mark: mark, V6: v6})
}

// DatagramSocket is Socket for UDP.
func (r *Reserve) DatagramSocket(v6 bool, mark uint32) (fd int, err error) {
	return r.socket(Kind{Mark: mark, V6: v6, UDP: true})
}

func (r *Reserve) socket(k Kind) (fd int, err error) {
	s := (*r.kinds.Load())[k]
	if s == nil {
		return -1, ErrNone
	}
	fd, low := s.take()
	if low {
		call(r.low)
	}
	if fd < 0 {
		return r.await(s)
	}
	return fd, nil
}

// await waits for a socket if netd is known to be quick.
func (r *Reserve) await(s *stack) (fd int, err error) {
	if !r.quick.Load() {
		return -1, ErrNone
	}
	r.waiting.Add(1)
	defer r.waiting.Add(-1)
	for limit := time.After(shortly); ; {
		news := *r.news.Load()
		if fd, _ := s.take(); fd >= 0 {
			return fd, nil
		}
		select {
		case <-news:
		case <-limit:
			r.quick.Store(false)
			return -1, ErrNone
		}
	}
}

// Prepare fills reserves for the kinds and waits until each has some sockets
// or is known to get none, at most that long. It returns why kinds have none.
// Kinds that were there before stay: see Keep.
func (r *Reserve) Prepare(kinds []Kind, within time.Duration) map[Kind]error {
	wanted := r.want(kinds)
	limit := time.NewTimer(within)
	defer limit.Stop()
	call(r.hurry)
	for {
		news := *r.news.Load()
		waiting, problems := false, map[Kind]error{}
		for k, s := range wanted {
			if some, refused := s.state(); !some {
				problems[k], waiting = refused, waiting || refused == nil
			}
		}
		if !waiting {
			return problems
		}
		select {
		case <-news:
			continue
		case <-limit.C:
		case <-r.done:
		}
		for k, why := range problems {
			if why == nil {
				problems[k] = ErrSilent
			}
		}
		return problems
	}
}

// Close ends the reserve and closes its sockets.
func (r *Reserve) Close() {
	close(r.stop)
	_ = r.conn.SetDeadline(time.Unix(1, 0)) // nothing is waited for any more
	<-r.done
	_ = r.conn.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range *r.kinds.Load() {
		shm.CloseDescriptors(s.resize(0))
	}
	r.kinds.Store(&map[Kind]*stack{})
}

// renew makes a new channel for news.
func (r *Reserve) renew() {
	c := make(chan struct{})
	if old := r.news.Swap(&c); old != nil {
		close(*old)
	}
}

// call wakes who listens on c, now or when it listens next.
func call(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
