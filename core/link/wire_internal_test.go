package link

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/shm/shmtest"
)

// An Ack does not repeat thousands of keys after a change that leaves them alone.
func TestTheSameListenersAreNotSentAgain(t *testing.T) {
	held := []string{strings.Repeat("k", 1000)}
	for _, c := range []struct {
		before, now []string
		long        bool
	}{{held, held, false}, {nil, held, true}, {held, []string{held[0], "b"}, true}} {
		here, there := shmtest.Pair(t)
		s := &connection{wire: newWire(here), h: acking{ack: Ack{Listeners: c.now}}, held: c.before}
		null, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.publication(&publication{}, []*os.File{null}); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 4000)
		if n, err := there.Read(b); err != nil || (n > 1000) != c.long {
			t.Errorf("an ack of %d bytes, %v", n, err)
		}
	}
}

func TestOnlyAcksMayRepeatListeners(t *testing.T) {
	for _, m := range []*message{{Ack: &Ack{Listeners: []string{"k"}}, Same: true}, {Hello: &Hello{}, Same: true}, {Answer: &answer{}, Same: true}} {
		b, err := encoding.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decode(b); !errors.Is(err, ErrProtocol) {
			t.Errorf("%x: %v", b, err)
		}
	}
}

// acking is a handler of publications.
type acking struct {
	Handler
	ack Ack
}

func (a acking) Publish(*os.File, map[string][]*os.File) Ack { return a.ack }

// Each further frame must contain bytes or descriptors.
func TestFramesMakeAMessage(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	body := mustEncode(&message{Ack: &Ack{Generation: 7}})
	type frames [][]byte
	for name, test := range map[string]struct {
		frames frames
		files  []int // number per frame
		want   string
	}{
		"one":                    {frames{append([]byte{1, 0}, body...)}, nil, ""},
		"two":                    {frames{append([]byte{1, 1}, body[:3]...), append([]byte{1, 0}, body[3:]...)}, nil, ""},
		"the last without bytes": {frames{append([]byte{1, 1}, body...), {1, 0}}, []int{1, 2}, ""},
		"descriptors alone":      {frames{{1, 1}, append([]byte{1, 1}, body...), {1, 1}, {1, 0}}, []int{1, 0, 2, 0}, ""},
		"nothing but more":       {frames{{1, 1}}, nil, "an empty frame"},
		"nothing in between":     {frames{append([]byte{1, 1}, body...), {1, 1}}, []int{1, 0}, "an empty frame"},
		"half a header":          {frames{{1}}, nil, "a frame of 1 bytes begins 0x01,"},
		"another protocol":       {frames{append([]byte{2, 0}, body...)}, nil, fmt.Sprintf("a frame of %d bytes begins 0x0200, this program speaks protocol 1", len(body)+2)},
		"another flag":           {frames{append([]byte{1, 2}, body...)}, []int{1}, "begins 0x0102,"},
	} {
		here, there := shmtest.Pair(t)
		brought := 0
		for i, frame := range test.frames {
			var files []*os.File
			if len(test.files) > 0 {
				for range test.files[i] {
					files = append(files, null)
				}
			}
			brought += len(files)
			if err := shm.Send(there, frame, files...); err != nil {
				t.Fatal(err)
			}
		}
		m, files, err := newWire(here).read()
		closeAll(files)
		if test.want == "" {
			if err != nil || m.Ack == nil || m.Ack.Generation != 7 || len(files) != brought {
				t.Errorf("%s: %+v with %d descriptors, %v", name, m, len(files), err)
			}
			continue
		}
		if !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), test.want) || len(files) != 0 {
			t.Errorf("%s: %d descriptors, %v; want %q", name, len(files), err, test.want)
		}
	}
}

// Only a protocol violation is logged as a warning, not a client that left or was
// replaced.
func TestConnectionEndLogsOnlyViolationsAsWarning(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	for _, test := range []struct {
		err   error
		level string
	}{
		{fmt.Errorf("%w: in the middle of a message", ErrGone), "DEBUG"},
		{&net.OpError{Op: "read", Err: net.ErrClosed}, "DEBUG"},
		{fmt.Errorf("send hello: %w", &net.OpError{Op: "write", Err: os.NewSyscallError("sendmsg", syscall.EPIPE)}), "DEBUG"},
		{fmt.Errorf("%w: an empty frame", ErrProtocol), "WARN"},
		{os.ErrDeadlineExceeded, "WARN"},
	} {
		var log logtest.Log
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
		if logEnd(test.err); len(log.Lines("level="+test.level)) != 1 || strings.Count(log.String(), "\n") != 1 {
			t.Errorf("%v: %s", test.err, &log)
		}
	}
}

// The first cause is kept, and always wraps ErrGone.
func TestFirstErrorOfAConnectionIsKept(t *testing.T) {
	went := fmt.Errorf("%w: in the middle of a message", ErrGone)
	for _, test := range []struct {
		cause error
		says  string
	}{{went, went.Error()}, {ErrProtocol, ErrGone.Error() + ": " + ErrProtocol.Error()}} {
		here, _ := shmtest.Pair(t)
		c := &Client{wire: newWire(here), done: make(chan struct{})}
		c.end(test.cause)
		c.end(errors.New("something later"))
		if err := c.gone(); err.Error() != test.says || !errors.Is(err, ErrGone) || !errors.Is(err, test.cause) {
			t.Errorf("%v: %v", test.cause, err)
		}
	}
}

// A question without buffer space is not sent, and the next one may follow.
func TestUnsentQueryReleasesItsTurn(t *testing.T) {
	here, there := shmtest.Pair(t)
	c := &Client{
		wire: newWire(here), done: make(chan struct{}), asking: make(chan struct{}, 1), writing: make(chan struct{}, 1),
	}
	_ = here.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	for {
		if _, err := here.Write(bytes.Repeat([]byte{1}, 1<<10)); err != nil {
			break
		}
	}
	for range 3 {
		if _, _, err := c.Session(t.Context(), 7, nil); !errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, ErrGone) {
			t.Fatalf("without room: %v", err)
		}
		if len(c.asking) != 0 || len(c.writing) != 0 || c.asked != nil {
			t.Fatal("a question that was not sent waits for its answer")
		}
	}
	_ = there.Close()
	if _, _, err := c.Session(t.Context(), 7, nil); !errors.Is(err, ErrGone) {
		t.Errorf("of an engine that is gone: %v", err)
	}
	select {
	case <-c.done:
	default:
		t.Error("the connection has not ended")
	}
}

// After half a question no other message would be understood.
func TestPartlySentQueryEndsTheConnection(t *testing.T) {
	here, _ := shmtest.Pair(t) // nobody reads
	c := &Client{
		wire: newWire(here), done: make(chan struct{}), asking: make(chan struct{}, 1), writing: make(chan struct{}, 1),
	}
	change := SessionChange{Act: LearnSessions, List: make([]Session, MaxLearned)}
	for i := range change.List {
		change.List[i].Key = make([]byte, 255)
	}
	if _, err := c.ChangeSessions(t.Context(), change); !errors.Is(err, ErrGone) || !errors.Is(err, ErrProtocol) {
		t.Errorf("got %v", err)
	}
	select {
	case <-c.done:
	default:
		t.Error("the connection has not ended")
	}
}

// Once the first frame was accepted, the rest has messageTimeout.
func TestLongQueriesHaveLongerTimeouts(t *testing.T) {
	before := messageTimeout
	defer SetMessageTimeout(before)
	SetMessageTimeout(time.Minute)
	here, there := shmtest.Pair(t)
	read := make(chan error)
	go func() {
		time.Sleep(2 * questionPatience) // the socket is full long before
		m, _, err := newWire(there).read()
		if err == nil && len(m.Ask.Change.List) != MaxLearned {
			err = fmt.Errorf("%d sessions came", len(m.Ask.Change.List))
		}
		read <- err
	}()
	change := SessionChange{Act: LearnSessions, List: make([]Session, MaxLearned)}
	for i := range change.List {
		change.List[i] = Session{Key: bytes.Repeat([]byte{0xff}, 255), Backend: 1<<32 - 1, TTL: 1 << 62}
	}
	if err := newWire(here).writeWithin(questionPatience, &message{Ask: &question{Change: &change}}, nil); err != nil {
		t.Errorf("sent: %v", err)
		_ = here.Close()
	}
	if err := <-read; err != nil {
		t.Errorf("read: %v", err)
	}
}

// An oversized publication is rejected before it is sent, and the sender expects no Ack.
func TestOversizedPublicationLeavesNoState(t *testing.T) {
	here, _ := shmtest.Pair(t)
	c := &Client{wire: newWire(here), done: make(chan struct{}), turn: make(chan struct{}, 1), writing: make(chan struct{}, 1)}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if _, err := c.Publish(t.Context(), null, map[string][]*os.File{strings.Repeat("k", 4<<20): {null}}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	if c.waiting || len(c.turn) != 0 || len(c.writing) != 0 {
		t.Error("it waits for its answer")
	}
}

// The contents of a message are limited before memory is allocated for them.
func TestMessageContentsAreLimited(t *testing.T) {
	for name, c := range map[string]struct {
		of   func(n int) []byte
		most int
	}{
		"lists in each other": {func(n int) []byte { return append(bytes.Repeat([]byte{0x81}, n-1), 0x80) }, 8},
		"elements of a list":  {func(n int) []byte { return append([]byte{0x99, byte(n >> 8), byte(n)}, make([]byte, n)...) }, 1 << 14},
		"pairs of a map": {func(n int) []byte {
			b := []byte{0xb9, byte(n >> 8), byte(n)}
			for i := range n {
				b = append(b, 0x19, byte(i>>8), byte(i), 0)
			}
			return b
		}, 1 << 13},
	} {
		if err := decoding.Wellformed(c.of(c.most)); err != nil {
			t.Errorf("%s: %d: %v", name, c.most, err)
		}
		if err := decoding.Wellformed(c.of(c.most + 1)); err == nil {
			t.Errorf("%s: %d were accepted", name, c.most+1)
		}
	}
	for year, want := range map[int]bool{-1: false, 0: true, 9999: true, 10000: false} {
		if got := writable(time.Date(year, 7, 1, 0, 0, 0, 0, time.UTC)); got != want {
			t.Errorf("the year %d: got %t, want %t", year, got, want)
		}
	}
}
