package load

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/bench/measure"
	"github.com/sluicelb/sluice/bench/poll"
)

// Datagrams keeps Spec.Window datagrams in flight on each socket: each echo is followed
// by the next datagram at once. A datagram contains a number and is echoed unchanged; a
// lost one is an error.
type Datagrams struct {
	spec    Spec
	poll    *poll.Poller
	sockets []socket
	buf     []byte
	out     []byte
	latency measure.Histogram
	result  Result
	until   int64
	last    int64
}

// socket records the send times of datagrams in flight, by number.
type socket struct {
	fd     int
	next   uint64
	sent   []int64 // by number modulo the window; 0: received
	flying int
}

// NewDatagrams opens the sockets.
func NewDatagrams(spec Spec) (*Datagrams, error) {
	p, err := poll.Open(512)
	if err != nil {
		return nil, err
	}
	d := &Datagrams{spec: spec, poll: p, buf: make([]byte, 64<<10), out: make([]byte, spec.Body)}
	for i := range spec.Connections {
		fd, err := poll.DialDatagrams(spec.Target)
		if err != nil {
			return nil, err
		}
		d.sockets = append(d.sockets, socket{fd: fd, sent: make([]int64, spec.Window)})
		if err := p.AddReader(fd, int32(i)); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Close closes the sockets.
func (d *Datagrams) Close() {
	for i := range d.sockets {
		poll.Close(d.sockets[i].fd)
	}
	_ = d.poll.Close()
}

// WarmUp waits for one echo on each socket.
func (d *Datagrams) WarmUp() error {
	d.until = 0
	for i := range d.sockets {
		if err := d.ask(&d.sockets[i], poll.Now()); err != nil {
			return err
		}
	}
	if err := d.settle(int64(d.spec.Patience)); err != nil {
		return err
	}
	if d.result.Errors > 0 {
		return fmt.Errorf("warm-up: %d of %d datagrams did not come back", d.result.Errors, len(d.sockets))
	}
	return nil
}

// Run sends for Spec.Duration and waits for the last echoes.
func (d *Datagrams) Run() (Result, error) {
	d.latency, d.result = measure.Histogram{}, Result{Causes: map[string]uint64{}, Connected: uint64(len(d.sockets))}
	start := poll.Now()
	d.until, d.last = start+int64(d.spec.Duration), start
	for i := range d.sockets {
		for range d.spec.Window {
			if err := d.ask(&d.sockets[i], start); err != nil {
				return Result{}, err
			}
		}
	}
	for poll.Now() < d.until {
		if err := d.turn(d.until); err != nil {
			return Result{}, err
		}
	}
	if err := d.settle(int64(time.Second)); err != nil {
		return Result{}, err
	}
	d.result.Elapsed = time.Duration(d.last - start)
	d.result.Latency = d.latency.Sparse()
	return d.result, nil
}

// settle waits for datagrams in flight and counts the others as lost.
func (d *Datagrams) settle(patience int64) error {
	for end := poll.Now() + patience; d.flying() > 0 && poll.Now() < end; {
		if err := d.turn(end); err != nil {
			return err
		}
	}
	if lost := d.flying(); lost > 0 {
		d.result.Errors += uint64(lost)
		if d.result.Causes != nil {
			d.result.Causes["datagrams that did not come back"] += uint64(lost)
		}
		for i := range d.sockets {
			d.sockets[i].flying = 0
			clear(d.sockets[i].sent)
		}
	}
	return nil
}

func (d *Datagrams) flying() (n int) {
	for i := range d.sockets {
		n += d.sockets[i].flying
	}
	return n
}

func (d *Datagrams) ask(s *socket, now int64) error {
	poll.Number(d.out, s.next)
	at := &s.sent[s.next%uint64(len(s.sent))]
	for *at != 0 { // after reordering the place may still be taken
		s.next++
		poll.Number(d.out, s.next)
		at = &s.sent[s.next%uint64(len(s.sent))]
	}
	s.next++
	*at = now
	s.flying++
	if _, errno := poll.Send(s.fd, d.out); errno != 0 {
		return fmt.Errorf("sending: %w", errno)
	}
	return nil
}

func (d *Datagrams) turn(deadline int64) error {
	n, err := d.poll.Wait(time.Duration(max(0, deadline-poll.Now())))
	if err != nil {
		return err
	}
	for i := range n {
		if err := d.receive(&d.sockets[d.poll.Event(i).Token]); err != nil {
			return err
		}
	}
	return nil
}

var errStrange = errors.New("an answer nobody waited for")

// receive reads all datagrams of a socket and sends the next one for each.
func (d *Datagrams) receive(s *socket) error {
	for {
		n, errno := poll.Recv(s.fd, d.buf, 0)
		if errno == syscall.EAGAIN {
			return nil
		}
		if errno != 0 {
			return fmt.Errorf("receiving: %w", errno)
		}
		at := &s.sent[poll.NumberOf(d.buf)%uint64(len(s.sent))]
		if n != d.spec.Body || *at == 0 {
			return errStrange
		}
		now := poll.Now()
		d.result.Requests++
		d.result.BytesIn += uint64(n)
		d.latency.Record(now - *at)
		*at, d.last = 0, now
		s.flying--
		if now < d.until {
			if err := d.ask(s, now); err != nil {
				return err
			}
		}
	}
}
