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
	// first is the initial number of sockets per kind. Each burst that empties a
	// reserve doubles it, up to most. With very many kinds it is least. The sum stays
	// below total.
	first, most, least, total = 256, 2048, 4, 8192
	// pause is the interval between requests while netd makes no sockets.
	pause = 250 * time.Millisecond
)

// Variables for tests.
var (
	// patience is the timeout for an answer. netd needs far less than a millisecond.
	patience = 250 * time.Millisecond
	// shortly is how long a loop may wait for netd. netd needs time to be scheduled,
	// but the other connections of the loop must not wait long.
	shortly = 10 * time.Millisecond
	// linger is how long sockets of an unused kind are kept, because exchanges in
	// progress finish on the table they began with.
	linger = 10 * time.Second
)

// Reserve holds marked sockets by kind. It is safe for concurrent use.
type Reserve struct {
	conn  *net.UnixConn
	log   *slog.Logger
	kinds atomic.Pointer[map[Kind]*stack]
	mu    sync.Mutex        // serialises changes of kinds
	low   chan struct{}     // a reserve has fallen below half
	hurry chan struct{}     // a caller waits: ends even a pause
	users map[string][]Kind // kinds per user; guarded by mu
	stop  chan struct{}
	done  chan struct{}
	news  atomic.Pointer[chan struct{}] // closed after each round of answers
	quick atomic.Bool                   // netd answered the last request
	// waiting is the number of loops that wait for sockets now.
	waiting atomic.Int32
	number  uint32 // of the last request; used by run only, as are the fields below
	failed  error  // error that was logged
	buf     []byte
}

// New returns an empty reserve that requests sockets from netd over conn. It takes
// ownership of conn. The caller must call Close.
func New(conn *net.UnixConn, log *slog.Logger) *Reserve {
	r := &Reserve{
		conn: conn, log: log,
		low: make(chan struct{}, 1), hurry: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
		// Random, so that answers to a dead engine do not match our requests.
		number: rand.Uint32(), buf: make([]byte, MessageSize+1),
	}
	r.users = map[string][]Kind{}
	r.kinds.Store(&map[Kind]*stack{})
	r.renew()
	go r.run()
	return r
}

// Socket returns an unconnected, non-blocking TCP socket with the mark. The caller owns
// it. It returns ErrNone if none is available. If a burst has emptied the reserve it
// waits for netd, usually a fraction of a millisecond. After a wait longer than
// shortly, calls fail at once until netd has answered.
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

// await waits for a socket if netd answered the last request.
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

// Prepare requests sockets for kinds. It waits until each kind has some or was
// rejected, at most for within. It returns the errors of kinds that have none. Existing
// kinds remain; see Keep.
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

// Close stops the goroutine and closes all sockets.
func (r *Reserve) Close() {
	close(r.stop)
	_ = r.conn.SetDeadline(time.Unix(1, 0)) // ends a pending read or write
	<-r.done
	_ = r.conn.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range *r.kinds.Load() {
		shm.CloseDescriptors(s.resize(0))
	}
	r.kinds.Store(&map[Kind]*stack{})
}

// renew wakes waiters by closing the news channel and installs a new one.
func (r *Reserve) renew() {
	c := make(chan struct{})
	if old := r.news.Swap(&c); old != nil {
		close(*old)
	}
}

// call wakes the receiver of c, now or when it next receives.
func call(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
