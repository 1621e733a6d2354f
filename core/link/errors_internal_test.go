package link

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/shm"
)

// The log level depends on whether the peer is gone or violated the protocol.
func TestReadErrorsAreClassified(t *testing.T) {
	received := func(err error) error { return &net.OpError{Op: "read", Err: err} }
	for _, test := range []struct {
		err   error
		begun bool
		want  error
		not   error
		says  string
	}{
		{io.EOF, false, ErrGone, ErrProtocol, ErrGone.Error()},
		{io.EOF, true, ErrGone, ErrProtocol, ErrGone.Error() + ": in the middle of a message"},
		{received(shm.ErrTruncated), false, ErrProtocol, ErrGone, ErrProtocol.Error() + ": read: " + shm.ErrTruncated.Error()},
		{received(os.ErrDeadlineExceeded), true, ErrProtocol, ErrGone, fmt.Sprintf("%v: it did not come to its end in %s", ErrProtocol, messageTimeout)},
		{received(syscall.ECONNRESET), true, ErrGone, ErrProtocol, ErrGone.Error() + ": read: " + syscall.ECONNRESET.Error()},
	} {
		err := readError(test.err, test.begun)
		if !errors.Is(err, test.want) || errors.Is(err, test.not) || err.Error() != test.says {
			t.Errorf("%v, begun %t: %v, want %q", test.err, test.begun, err, test.says)
		}
	}
}

// Temporary errors of accept do not end the server; other errors of its socket do.
func TestAcceptSurvivesTemporaryErrors(t *testing.T) {
	for errno, want := range map[error]bool{
		syscall.EMFILE: true, syscall.ENFILE: true, syscall.ENOBUFS: true, syscall.ENOMEM: true, syscall.ECONNABORTED: true, syscall.EINTR: true,
		syscall.EBADF: false, syscall.EINVAL: false, net.ErrClosed: false,
	} {
		if got := passing(&net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", errno)}); got != want {
			t.Errorf("%v passes: got %t, want %t", errno, got, want)
		}
	}
}

// The list is cut at the last session that fits a message.
func TestSessionsOfAnAnswerFitAMessage(t *testing.T) {
	const room, each = 4<<20 - 1<<10, 1 << 10
	many := make([]Session, room/each+2)
	for i := range many {
		many[i].Key = make([]byte, each-24)
	}
	if got := len(fitting(many)); got != room/each {
		t.Errorf("%d sessions are carried, want %d", got, room/each)
	}
	if got := len(fitting(many[:room/each])); got != room/each {
		t.Errorf("%d sessions of %d are carried", got, room/each)
	}
	if b, err := encode(&message{Answer: &answer{Total: len(many), List: fitting(many)}}); err != nil || len(b) > maxBody {
		t.Errorf("they take %d bytes of %d, %v", len(b), maxBody, err)
	}
	for limit, want := range map[int]int{-1: 0, 0: 0, 1: 1, MaxCarried: MaxCarried, MaxCarried + 1: MaxCarried} {
		if got := bounded(limit); got != want {
			t.Errorf("a limit of %d is %d, want %d", limit, got, want)
		}
	}
}

// An answer with more items than requested is invalid.
func TestAnswersMatchTheirQueries(t *testing.T) {
	q := &asked{limit: 2, connections: 1}
	for want, answers := range map[bool][]answer{
		true: {{}, {Total: 9}, {Total: 2, List: make([]Session, 2)}, {Total: 3, List: make([]Session, 2)}, {Total: 1, Connections: make([]Connection, 1)}},
		false: {
			{Total: -1}, {Total: 3, List: make([]Session, 3)}, {Total: 1, List: make([]Session, 2)}, {Explanation: &explain.Explanation{}},
			{Total: 2, Connections: make([]Connection, 2)}, {Total: 0, Connections: make([]Connection, 1)},
		},
	} {
		for _, a := range answers {
			if a.fits(q) != want {
				t.Errorf("%+v fits: got %t, want %t", a, !want, want)
			}
		}
	}
	if a := (answer{Explanation: &explain.Explanation{}}); !a.fits(&asked{explain: true}) {
		t.Error("a requested explanation does not fit")
	}
}
