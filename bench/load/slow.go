package load

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/bench/poll"
)

// SlowSpec describes half-open clients that never finish a request head.
type SlowSpec struct {
	Target      netip.AddrPort `json:"target"`
	Connections int            `json:"connections"`
	Host        string         `json:"host"`
	// Every is the time between two bytes on one connection.
	Every    time.Duration `json:"every"`
	Patience time.Duration `json:"patience"`
}

// SlowResult holds the result of the slow clients.
type SlowResult struct {
	Open int `json:"open"` // open connections at the end
	// Closed counts connections that the proxy closed, e.g. by a timeout for request
	// heads. Each was reopened.
	Closed uint64 `json:"closed"`
	Bytes  uint64 `json:"bytes"`  // bytes sent after the first part
	Missed uint64 `json:"missed"` // bytes due without an open socket
	// Share is the fraction of due bytes that were sent or missed because of the proxy.
	// Less than 1 means that this process lacked CPU time.
	Share float64 `json:"share"`
}

// slowTick is short so that the bytes are spread evenly, as if all clients were independent. A
// burst would delay the measured clients on their core and in the proxy.
const slowTick = 200 * time.Microsecond

var slowByte = []byte("x")

// slow is the state of all slow clients.
type slow struct {
	spec      SlowSpec
	poll      *poll.Poller
	first     []byte
	fds       []int // -1: none
	gens      []int32
	up        []bool  // the connect succeeded
	cursor    int     // the connection whose byte is next
	owed      float64 // bytes due and not sent
	connected int     // sockets whose connect succeeded
	result    SlowResult
}

// SlowMain is the process of the slow clients. It reads a SlowSpec, connects, prints a
// State, sends bytes until the input ends, and prints a SlowResult.
func SlowMain(control int, in io.Reader, out io.Writer) error {
	var spec SlowSpec
	if err := readLine(bufio.NewReader(in), &spec); err != nil {
		return fmt.Errorf("slow clients: spec: %w", err)
	}
	// The measured clients share the CPU and must not wait for this process.
	if err := poll.Background(); err != nil {
		return fmt.Errorf("slow clients: scheduling class: %w", err)
	}
	p, err := poll.Open(512)
	if err != nil {
		return err
	}
	s := &slow{spec: spec, poll: p, fds: make([]int, spec.Connections), gens: make([]int32, spec.Connections), up: make([]bool, spec.Connections)}
	s.first = fmt.Appendf(nil, "GET /128 HTTP/1.1\r\nHost: %s\r\nX-Slow: ", spec.Host)
	state := State{Ready: true}
	if err := s.connect(); err != nil {
		state = State{Error: err.Error()}
	}
	if err := json.NewEncoder(out).Encode(state); err != nil || !state.Ready {
		return err
	}
	if err := s.drip(control); err != nil {
		return err
	}
	s.result.Open = s.connected
	return json.NewEncoder(out).Encode(s.result)
}

// connect opens all connections, in groups that fit into an accept queue.
func (s *slow) connect() error {
	deadline := poll.Now() + int64(s.spec.Patience)
	for i := range s.fds {
		s.fds[i] = -1
	}
	for i := 0; i < len(s.fds); {
		for n := 0; n < 256 && i < len(s.fds); n++ {
			if err := s.open(i); err != nil {
				return fmt.Errorf("slow client %d: %w", i, err)
			}
			i++
		}
		for s.connected < i {
			if err := s.wait(10*time.Millisecond, -1); err != nil {
				return err
			}
			if poll.Now() > deadline {
				return fmt.Errorf("slow clients: %d of %d connected, %w", s.connected, len(s.fds), errLate)
			}
		}
	}
	return nil
}

func (s *slow) open(i int) error {
	fd, err := poll.Dial(s.spec.Target)
	if err != nil {
		return err
	}
	s.gens[i]++
	s.fds[i] = fd
	return s.poll.Add(fd, int32(i), s.gens[i])
}

func (s *slow) drip(control int) error {
	if err := s.poll.AddReader(control, tokenControl); err != nil {
		return err
	}
	timer, err := poll.NewTimer(s.poll, slowTick, tokenTimer)
	if err != nil {
		return err
	}
	defer timer.Close()
	began := poll.Now()
	for {
		if err := s.wait(-1, control); err == io.EOF {
			due := float64(poll.Now()-began) / float64(s.spec.Every) * float64(len(s.fds))
			s.result.Share = float64(s.result.Bytes+s.result.Missed) / max(due, 1)
			return nil
		} else if err != nil {
			return err
		}
		s.owed += float64(timer.Ticks()) * float64(slowTick) / float64(s.spec.Every) * float64(len(s.fds))
		for ; s.owed >= 1; s.owed-- {
			s.one()
		}
	}
}

func (s *slow) one() {
	i := s.cursor
	s.cursor = (s.cursor + 1) % len(s.fds)
	if s.fds[i] >= 0 {
		if _, errno := poll.Send(s.fds[i], slowByte); errno == 0 {
			s.result.Bytes++
			return
		}
	}
	s.result.Missed++
}

// wait handles one batch of events; io.EOF means the end of control.
func (s *slow) wait(atMost time.Duration, control int) error {
	n, err := s.poll.Wait(atMost)
	if err != nil {
		return err
	}
	for k := range n {
		e := s.poll.Event(k)
		switch e.Token {
		case tokenTimer:
		case tokenControl:
			var b [16]byte
			if n, err := syscall.Read(control, b[:]); n <= 0 && err != syscall.EINTR {
				return io.EOF
			}
		default:
			if err := s.event(int(e.Token), e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *slow) event(i int, e poll.Event) error {
	if s.fds[i] < 0 || e.Generation != s.gens[i] {
		return nil
	}
	if e.Bits&poll.Closed != 0 || e.Bits&poll.In != 0 {
		// Refused, timed out or failed: open another, so that the pressure stays the
		// same.
		poll.Close(s.fds[i])
		if s.up[i] {
			s.connected--
		}
		s.up[i] = false
		s.fds[i] = -1
		s.result.Closed++
		return s.open(i)
	}
	if !s.up[i] && e.Bits&poll.Out != 0 {
		s.connected++
		s.up[i] = true
		_, _ = poll.Send(s.fds[i], s.first)
	}
	return nil
}
