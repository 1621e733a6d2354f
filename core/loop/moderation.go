package loop

import (
	"os"
	"time"

	"github.com/panjf2000/gnet/v2/pkg/netpoll"
	"golang.org/x/sys/unix"
)

// Under a high rate of datagrams, a moderated listener is polled by a timer instead of
// reporting each arrival. Network cards moderate their interrupts in the same way
// (ethtool -C rx-usecs). Larger batches share the receive call, the send call and the
// wake-up of the clients.

const (
	// pollEvery is the pause of a polled listener between two batches.
	pollEvery = 30 * time.Microsecond
	// pollFrom is the batch size from which a listener is polled. A loop cannot respond
	// to that many datagrams within pollEvery. A client that waits for responses before
	// it sends more does not fill such a batch, so it is not delayed.
	pollFrom = 16
	// pollTo is the smallest batch of a polled listener. Below it, arrivals wake the
	// loop again.
	pollTo = 8
)

// moderation is the polling timer of a loop's moderated listeners.
type moderation struct {
	timer int // a timerfd; -1 before the first listener
	every time.Duration
	due   []*UDPListener // to be polled at the next expiry
	ready []*UDPListener // being polled
}

// Moderate enables polling while datagrams arrive at a high rate. It delays the first
// datagram of a batch by up to 30 µs.
func (ln *UDPListener) Moderate() error {
	if err := ln.loop.moderate(); err != nil {
		return err
	}
	ln.moderated = true
	return nil
}

// moderate creates the timer once.
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

// received selects, after a batch of n, how the listener learns of the next one.
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

// add schedules a poll of the listener at the next expiry of the timer.
func (m *moderation) add(ln *UDPListener) {
	m.due = append(m.due, ln)
	if len(m.due) == 1 {
		sysSetTimer(m.timer, m.every)
	}
}

// ring polls the listeners that are due. The timer is edge triggered and one-shot, so
// its counter need not be read.
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
