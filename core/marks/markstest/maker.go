// Package markstest fakes netd for tests that need marked sockets. Its sockets are
// unmarked, so it needs no privilege.
package markstest

import (
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/shm/shmtest"
)

// Maker makes the sockets of a reserve and records the requests.
type Maker struct {
	Reserve *marks.Reserve
	Code    atomic.Int32 // a marks.Code, its answer
	Quiet   atomic.Bool  // it does not answer

	t    *testing.T
	mu   sync.Mutex
	made map[marks.Kind]int
}

// New starts a Maker whose reserve logs to log. Both end with the test.
func New(t *testing.T, log *slog.Logger) *Maker {
	t.Helper()
	m := &Maker{t: t, made: map[marks.Kind]int{}}
	engine, netd := shmtest.Pair(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.serve(netd)
	}()
	m.Reserve = marks.New(engine, log)
	t.Cleanup(func() { m.Reserve.Close(); _ = netd.Close(); <-done })
	return m
}

func (m *Maker) serve(c *net.UnixConn) {
	buf := make([]byte, marks.MessageSize)
	for {
		n, _, err := shm.Receive(c, buf)
		if err != nil {
			return // the test is over
		}
		r, err := marks.ParseRequest(buf[:n])
		if err != nil {
			m.t.Error(err)
			return
		}
		if !m.Quiet.Load() {
			m.answer(c, r)
		}
	}
}

func (m *Maker) answer(c *net.UnixConn, r marks.Request) {
	a, fds := marks.Answer{Number: r.Number, Kind: r.Kind, Code: marks.Code(m.Code.Load())}, []int(nil)
	family, kind := syscall.AF_INET, syscall.SOCK_STREAM
	if r.Kind.V6 {
		family = syscall.AF_INET6
	}
	if r.Kind.UDP {
		kind = syscall.SOCK_DGRAM
	}
	for a.Code == marks.Made && len(fds) < r.Count {
		fd, err := syscall.Socket(family, kind|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			m.t.Error(err)
			break
		}
		fds = append(fds, fd)
	}
	a.Count = len(fds)
	m.mu.Lock()
	m.made[r.Kind] += len(fds)
	m.mu.Unlock()
	_ = shm.SendDescriptors(c, a.AppendTo(nil), fds) // the reserve may be closed
	shm.CloseDescriptors(fds)
}

// Made returns the kinds for which sockets were made, sorted by mark.
func (m *Maker) Made() (kinds []marks.Kind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range m.made {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b marks.Kind) int { return int(a.Mark) - int(b.Mark) })
	return kinds
}
