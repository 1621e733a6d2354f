package loop

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/panjf2000/gnet/v2/pkg/netpoll"
	"golang.org/x/sys/unix"
)

// moderated is a moderated listener whose timer is fired by the test.
type moderated struct {
	*testing.T
	l      *Loop
	ln     *UDPListener
	file   *os.File
	client net.Conn
	got    int // datagrams since the last reset
}

func (m *moderated) Received(*UDPListener, *Datagram) { m.got++ }
func (m *moderated) Lost(*UDPListener, Endpoint, int) {}

func startModerated(t *testing.T) *moderated {
	t.Helper()
	must := func(err error) {
		if t.Helper(); err != nil {
			t.Fatal(err)
		}
	}
	l, err := New(nil)
	must(err)
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	must(err)
	m := &moderated{T: t, l: l}
	m.file, err = c.File()
	must(err)
	m.client, err = net.Dial("udp", c.LocalAddr().String())
	must(err)
	go func() { _ = l.Run() }()
	t.Cleanup(func() { l.Stop(); _, _, _ = m.client.Close(), m.file.Close(), c.Close() })
	m.on(func() {
		if m.ln, err = l.ListenUDP(m.file, m); err == nil {
			err = m.ln.Moderate()
		}
		l.moderation.every = time.Hour
	})
	must(err)
	return m
}

// look is a turn of the loop that calls fn after the poll of all descriptors.
type look struct {
	fn     func()
	queued bool
	done   chan struct{}
}

func (k *look) turn() { defer close(k.done); k.fn() }

// on runs fn on the loop after it has received the datagrams waiting at registered
// sockets.
func (m *moderated) on(fn func()) {
	k := &look{fn: fn, done: make(chan struct{})}
	m.l.Post(func() { m.l.later(k, &k.queued) })
	<-k.done
}

// arrive sends n datagrams at once. It returns how many the loop received because of
// their arrival, and whether the listener is polled afterwards.
func (m *moderated) arrive(n int) (got int, polled bool) {
	m.Helper()
	m.on(func() {
		m.got = 0
		for range n {
			if _, err := m.client.Write([]byte("datagram")); err != nil {
				m.Error(err)
			}
		}
	})
	m.on(func() { got, polled = m.got, m.ln.polled })
	return got, polled
}

// ring fires the timer and returns how many datagrams were received then.
func (m *moderated) ring() (got int, polled bool) {
	m.on(func() {
		m.got = 0
		m.l.moderation.ring()
		got, polled = m.got, m.ln.polled
	})
	return got, polled
}

func (m *moderated) want(what string, n int, still bool) func(int, bool) {
	return func(got int, polled bool) {
		m.Helper()
		if got != n || polled != still {
			m.Errorf("%s: %d datagrams came, and it is polled: %v; want %d and %v", what, got, polled, n, still)
		}
	}
}

// A listener is polled from a batch of sixteen until one has fewer than eight, and is
// not registered meanwhile. The timer is set after each batch.
func TestLargeBatchesAreWaitedForWithAClock(t *testing.T) {
	m := startModerated(t)
	m.want("fifteen", 15, false)(m.arrive(15))
	m.want("sixteen", 16, true)(m.arrive(16))
	m.want("ten more", 0, true)(m.arrive(10))
	m.want("the clock rings", 10, true)(m.ring())
	m.want("eight more", 0, true)(m.arrive(8))
	m.want("it rings again", 8, true)(m.ring())
	m.want("seven more", 0, true)(m.arrive(7))
	m.want("it rings for a small batch", 7, false)(m.ring())
	m.want("one alone", 1, false)(m.arrive(1))
	m.want("sixteen again", 16, true)(m.arrive(16))
	m.want("it rings for none", 0, false)(m.ring())
	m.want("one alone again", 1, false)(m.arrive(1))
}

// Datagrams that arrive between the last poll and the registration are reported, too.
func TestArrivalsBeforeReregistrationAreReceived(t *testing.T) {
	m := startModerated(t)
	m.arrive(16)
	m.on(func() {
		m.l.moderation.ring() // no datagrams
		_, _ = m.client.Write([]byte("datagram"))
	})
	m.on(func() {
		if m.got != 17 {
			t.Errorf("%d of 17 datagrams came", m.got)
		}
	})
}

// After a full batch the listener gets another turn at once. If it is polled it stays
// so.
func TestFullBatchesWaitForNoClock(t *testing.T) {
	m := startModerated(t)
	m.want("two batches and a half", 2*datagramBatch+32, true)(m.twice(m.arrive(2*datagramBatch + 32)))
	m.arrive(datagramBatch + 20)
	m.on(func() { m.got = 0; m.l.moderation.ring() })
	m.want("a batch and a part", datagramBatch+20, true)(m.twice(0, true))
	m.want("the clock rings for what is left: nothing", 0, false)(m.ring())
}

// twice gives the loop its next turns and returns the number of datagrams received.
func (m *moderated) twice(int, bool) (got int, polled bool) {
	for range 4 {
		m.on(func() { got, polled = m.got, m.ln.polled })
	}
	return got, polled
}

// If the listener cannot be registered again (e.g. no kernel memory), polling
// continues.
func TestListenersWithoutRegistrationArePolled(t *testing.T) {
	m := startModerated(t)
	m.arrive(16)
	var err error
	m.on(func() { err = m.l.poller.AddRead(&netpoll.PollAttachment{FD: m.ln.fd}, true) }) // makes a later call fail
	if err != nil {
		t.Fatal(err)
	}
	m.want("it cannot be told", 0, true)(m.ring())
	m.on(func() { err = m.l.poller.Delete(m.ln.fd) })
	m.want("it can again", 0, false)(m.ring())
	m.want("one alone", 1, false)(m.arrive(1))
}

// A closed listener is not polled, even if its descriptor is reused. Other listeners
// continue, and the timer closes with the loop.
func TestClosedListenersAreNotPolled(t *testing.T) {
	m := startModerated(t)
	m.arrive(16)
	first := m.ln
	m.on(func() {
		m.ln.Close()
		var err error
		if m.ln, err = m.l.ListenUDP(m.file, m); err != nil || m.ln.fd != first.fd {
			t.Errorf("the next listener has descriptor %d, want %d: %v", m.ln.fd, first.fd, err)
		}
	})
	m.want("the clock rings for nobody", 0, false)(m.ring())
	m.want("sixteen, of one that is not moderated", 16, false)(m.arrive(16))
	timer := m.l.moderation.timer
	m.l.Stop()
	if _, err := unix.FcntlInt(uintptr(timer), unix.F_GETFD, 0); err == nil {
		t.Error("the clock is still open")
	}
}

// The timer fires on its own, once per batch.
func TestClockTimerFires(t *testing.T) {
	m := startModerated(t)
	m.on(func() { m.l.moderation.every = time.Millisecond })
	for range 3 {
		m.arrive(16)
		for polled := true; polled; {
			m.on(func() { polled = m.ln.polled })
		}
	}
	events := func() (n uint64) { m.on(func() { n = *m.l.count.Events }); return n }
	before := events()
	for range 10 {
		events() // counts as an event of its own
	}
	if n := events() - before; n != 11 {
		t.Errorf("%d events instead of 11: the clock advances without the test", n)
	}
}

// A loop has one timer. The first waiting listener sets it; others do not postpone it.
func TestTheClockIsSetOnce(t *testing.T) {
	m := startModerated(t)
	m.on(func() {
		was := m.l.moderation.timer
		if err := m.ln.Moderate(); err != nil || m.l.moderation.timer != was {
			t.Errorf("another listener has clock %d, want %d: %v", m.l.moderation.timer, was, err)
		}
	})
	left := func() (d time.Duration) {
		m.on(func() {
			var now unix.ItimerSpec
			if err := unix.TimerfdGettime(m.l.moderation.timer, &now); err != nil {
				t.Error(err)
			}
			d = time.Duration(now.Value.Nano())
		})
		return d
	}
	m.arrive(16)
	if d := left(); d < 50*time.Minute || d > time.Hour {
		t.Errorf("it rings in %v instead of an hour", d)
	}
	m.on(func() { m.l.moderation.every = 2 * time.Hour; m.l.moderation.add(m.ln) })
	if d := left(); d > time.Hour {
		t.Errorf("another listener put the clock off to %v", d)
	}
}

// A client that waits for responses before it sends more is not delayed. The batch size
// for polling exceeds the capacity of a loop, about 300,000 responses per second.
func TestPollingDelaysNoResponses(t *testing.T) {
	if rate := pollFrom * time.Second / pollEvery; rate < 500_000 {
		t.Errorf("clients of batches of %d get %d answers a second", pollFrom, rate)
	}
}

// Moderate fails if the timer cannot be created, and leaves no descriptor open.
func TestListenersAreNotModeratedWithoutAClock(t *testing.T) {
	m := startModerated(t)
	m.l.Stop()
	m.l.moderation.timer = -1
	first := lowest(t, m.file)
	within(t, first, func() {
		if err := m.ln.Moderate(); !errors.Is(err, syscall.EMFILE) {
			t.Errorf("without a descriptor: %v", err)
		}
	})
	if m.ln.Moderate() == nil {
		t.Error("a poller that is closed tells of the clock")
	}
	if now := lowest(t, m.file); now != first {
		t.Errorf("descriptor %d stays open", first)
	}
}

func TestPollingAllocatesNothing(t *testing.T) {
	m := startModerated(t)
	var n float64
	m.on(func() {
		write := []byte("datagram")
		fill := func() {
			for range pollFrom {
				_, _ = m.client.Write(write)
			}
		}
		fill()
		m.ln.receive()
		n = testing.AllocsPerRun(100, func() { fill(); m.l.moderation.ring() })
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
