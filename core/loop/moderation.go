package loop

import (
	"os"
	"time"

	"github.com/panjf2000/gnet/v2/pkg/netpoll"
	"golang.org/x/sys/unix"
)

// While datagrams come quickly a moderated listener is polled by a clock instead of being
// told of each that arrives, as network cards do with their interrupts (interrupt
// moderation, ethtool -C rx-usecs). So more of them share the call that receives, the
// call that sends, and the waking of those who asked.

const (
	// pollEvery is how long a listener rests between two batches.
	pollEvery = 30 * time.Microsecond
	// pollFrom is the batch from which on a listener is polled. So many in pollEvery are
	// more than a loop can answer: a client that waits for answers before it asks on,
	// and never fills a batch, is not held up.
	pollFrom = 16
	// pollTo is the smallest batch of a polled listener: below it arrivals wake the loop again.
	pollTo = 8
)

// moderation is the clock of a loop's moderated listeners.
type moderation struct {
	timer int // a timerfd; -1 before the first listener
	every time.Duration
	due   []*UDPListener // when it rings
	ready []*UDPListener // while it does
}

// Moderate has the listener polled while datagrams come quickly. That costs the first of
// a batch up to 30 µs.
func (ln *UDPListener) Moderate() error {
	if err := ln.loop.moderate(); err != nil {
		return err
	}
	ln.moderated = true
	return nil
}

// moderate makes the clock, once.
func (l *Loop) moderate() error {
	if l.moderation.timer >= 0 {
		return nil
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("timerfd_create", err)
	}
	if err := l.poller.AddRead(&netpoll.PollAttachment{FD: fd}, true); err != nil {
		sysClose(fd)
		return err
	}
	l.moderation = moderation{timer: fd, every: pollEvery}
	return nil
}

// received decides, after a batch of n, what the next one is waited for with.
func (ln *UDPListener) received(n int) {
	switch {
	case ln.closed:
		return
	case n == datagramBatch:
		ln.again()
	case ln.polled && n < pollTo:
		ln.polled = ln.loop.poller.AddRead(&netpoll.PollAttachment{FD: ln.fd}, true) != nil
	case !ln.polled && n >= pollFrom && ln.moderated:
		ln.polled = ln.loop.poller.Delete(ln.fd) == nil
	}
	if ln.polled && !ln.queued {
		ln.loop.moderation.add(ln)
	}
}

// add has the listener polled when the clock rings next.
func (m *moderation) add(ln *UDPListener) {
	m.due = append(m.due, ln)
	if len(m.due) == 1 {
		sysSetTimer(m.timer, m.every)
	}
}

// ring polls the listeners that are due. The timer is edge triggered and set anew, so
// its count needs no reading.
func (m *moderation) ring() {
	m.due, m.ready = m.ready[:0], m.due
	for i, ln := range m.ready {
		m.ready[i] = nil
		ln.receive()
	}
}

func (m *moderation) close() {
	if m.timer >= 0 {
		sysClose(m.timer)
	}
}
