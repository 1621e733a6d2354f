package syslog

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/logtest"
)

func numberedMessage(n int) *Message {
	return &Message{Facility: Daemon, Severity: Info, ID: IDLog, Text: "message " + strconv.Itoa(n)}
}

// dead returns an address without a listener, and a function that listens on it.
func dead(t *testing.T) (address string, listen func() net.Listener) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = ln.Addr().String()
	_ = ln.Close()
	return address, func() net.Listener {
		ln, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		return ln
	}
}

// texts reads n messages from the next connection.
func texts(t *testing.T, ln net.Listener, n int) (out []string) {
	t.Helper()
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	r := bufio.NewReader(c)
	for range n {
		length, err := r.ReadString(' ')
		if err != nil {
			t.Fatalf("after %d messages: %v", len(out), err)
		}
		size, _ := strconv.Atoi(strings.TrimSpace(length))
		b := make([]byte, size)
		if _, err := io.ReadFull(r, b); err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(b), " log - ")
		out = append(out, text)
	}
	return out
}

func newSender(t *testing.T, target Target, drop Drop) (*Sender, *logtest.Log) {
	t.Helper()
	log := new(logtest.Log)
	s := NewSender(target, drop, NewOrigin("h", "a", "1"), slog.New(slog.NewTextHandler(log, nil)), nil)
	t.Cleanup(s.Close)
	return s, log
}

func TestMessagesWaitForAnUnreachableServer(t *testing.T) {
	address, listen := dead(t)
	s, log := newSender(t, to(TCP, address), DropOldest)
	for i := range 200 {
		s.Send(numberedMessage(i))
	}
	enginetest.Eventually(t, "it was tried", func() bool { return s.Stats().Problem != "" })
	if st := s.Stats(); st.Waiting+batchMessages < 200 || st.Dropped != 0 || st.Sent != 0 || st.Target != "tcp://"+address {
		t.Errorf("%+v", st)
	}
	got := texts(t, listen(), 200)
	for i, text := range got {
		if text != fmt.Sprintf("message %d", i) {
			t.Fatalf("at %d comes %q", i, text)
		}
	}
	enginetest.Eventually(t, "that is counted", func() bool { st := s.Stats(); return st.Sent == 200 && st.Waiting == 0 && st.Problem == "" })
	enginetest.Eventually(t, "that is said", func() bool { return log.Has("takes messages again") })
	if n := len(log.Lines("cannot be reached")); n != 1 {
		t.Errorf("logged %d times:\n%s", n, log)
	}
	if s.bytes != 0 {
		t.Errorf("%d bytes wait", s.bytes)
	}
}

func TestQueueIsBoundedAndReportsDropsOnce(t *testing.T) {
	for drop, first := range map[Drop]string{DropOldest: "message 1000", DropNewest: "message 0"} {
		t.Run(string(drop), func(t *testing.T) {
			address, listen := dead(t)
			s, log := newSender(t, to(TCP, address), drop)
			for i := range queueMessages + 1000 {
				s.Send(numberedMessage(i))
			}
			enginetest.Eventually(t, "what is on its way came back", func() bool {
				st := s.Stats()
				return st.Waiting == queueMessages && st.Dropped == 1000
			})
			got := texts(t, listen(), queueMessages+1)
			if !strings.HasPrefix(got[0], "1000 messages since 2") || got[1] != first {
				t.Errorf("first come %q, %q", got[0], got[1])
			}
			if n := len(log.Lines("are dropped")); n != 1 {
				t.Errorf("logged %d times", n)
			}
			enginetest.Eventually(t, "all are there", func() bool { return s.Stats().Waiting == 0 })
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.untold != 0 || s.full || s.bytes != 0 {
				t.Errorf("untold %d, full %v, %d bytes", s.untold, s.full, s.bytes)
			}
		})
	}
}

func TestQueueIsBoundedInBytes(t *testing.T) {
	s, _ := newSender(t, to(TCP, "127.0.0.1:1"), DropOldest)
	long := &Message{ID: IDLog, Text: strings.Repeat("x", 2*MaxStream)}
	const messages = 2 * queueBytes / MaxStream
	for range messages {
		s.Send(long)
	}
	enginetest.Eventually(t, "half of them are dropped", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.bytes == queueBytes && s.dropped == messages/2 && len(s.waiting) == messages/2
	})
}

// The batch is older than the queue.
func TestReturnedBatchFitsTheQueue(t *testing.T) {
	for drop, want := range map[Drop]string{DropOldest: "w1", DropNewest: "b1"} {
		s := &Sender{drop: drop, now: time.Now}
		text := func(name string) []byte { return []byte(name + strings.Repeat("x", queueBytes/4-len(name))) }
		for _, name := range []string{"w1", "w2", "w3", "w4"} {
			s.waiting = append(s.waiting, text(name))
			s.bytes += queueBytes / 4
		}
		s.back([][]byte{text("b1")})
		if len(s.waiting) != 4 || s.bytes != queueBytes || s.dropped != 1 {
			t.Errorf("%s: %d wait with %d bytes, %d were dropped", drop, len(s.waiting), s.bytes, s.dropped)
		}
		if len(s.waiting) > 0 && !strings.HasPrefix(string(s.waiting[0]), want) {
			t.Errorf("%s: %.2s is first", drop, s.waiting[0])
		}
	}
}

func TestFailuresAreCountedAndKept(t *testing.T) {
	address, listen := dead(t)
	s, _ := newSender(t, to(TCP, address), DropOldest)
	s.Send(numberedMessage(0))
	enginetest.Eventually(t, "it was tried", func() bool { return s.Stats().Problem != "" })
	ln := listen()
	texts(t, ln, 1) // closes the connection
	enginetest.Eventually(t, "it is there", func() bool { return s.Stats().Sent == 1 })
	if st := s.Stats(); st.Reconnects != 0 || st.Problem != "" || !strings.Contains(st.LastError, "refused") || st.LastErrorAt.IsZero() {
		t.Errorf("after the first connection: %+v", st)
	}
	s.Send(numberedMessage(1))
	texts(t, ln, 1)
	enginetest.Eventually(t, "the second is counted", func() bool { st := s.Stats(); return st.Sent == 2 && st.Reconnects == 1 })
}

// A server that accepts and never reads delays neither senders nor Close.
func TestNonReadingServerDelaysNoSender(t *testing.T) {
	s, _ := newSender(t, to(TCP, enginetest.NewSilent(t).Addr), DropOldest)
	long := &Message{ID: IDLog, Text: strings.Repeat("x", MaxStream)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 5000 { // 40 MB
			s.Send(long)
		}
		s.Close()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("a sender waits")
	}
	s.Send(long) // nor after Close
	if s.Stats().Dropped == 0 {
		t.Error("no message was dropped")
	}
	<-s.done
}

func TestCloseSendsQueuedMessages(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	s, _ := newSender(t, to(TCP, ln.Addr().String()), DropOldest)
	for i := range 1000 {
		s.Send(numberedMessage(i))
	}
	s.Close()
	s.Close()
	if got := texts(t, ln, 1000); got[999] != "message 999" {
		t.Errorf("the last is %q, want %q", got[999], "message 999")
	}
}

// Datagrams are not acknowledged: a port that rejects some of them does not count as
// going down and up repeatedly.
func TestRefusedDatagramsAreLoggedOnce(t *testing.T) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	s, log := newSender(t, to(UDP, c.LocalAddr().String()), DropOldest)
	for i := range 6 {
		s.Send(numberedMessage(i))
		enginetest.Eventually(t, "it left", func() bool { return s.Stats().Sent > uint64(i) })
	}
	if lost, back := len(log.Lines("cannot be reached")), len(log.Lines("takes messages again")); lost != 1 || back != 0 {
		t.Errorf("logged %d times, and its end %d times:\n%s", lost, back, log)
	}
}

func TestARemoteSendsToAllItsServersAndKeepsThoseThatStay(t *testing.T) {
	log := new(logtest.Log)
	r := NewRemote(slog.New(slog.NewTextHandler(log, nil)), nil)
	defer r.Close()
	r.Send(*numberedMessage(0)) // no servers
	if r.Active() {
		t.Error("it has servers")
	}
	a, listenA := dead(t)
	b, listenB := dead(t)
	one, two := Server{Target: to(TCP, a)}, Server{Target: to(TCP, b)}
	r.Set([]Server{one, two})
	r.Send(*numberedMessage(1))
	r.Set([]Server{two})
	r.Send(*numberedMessage(2))
	r.Set([]Server{two, one})
	r.Send(*numberedMessage(3))
	if got := texts(t, listenA(), 1); got[0] != "message 3" {
		t.Errorf("the server that went gets %q", got)
	}
	if got := texts(t, listenB(), 3); got[0] != "message 1" || got[2] != "message 3" {
		t.Errorf("the server that stayed gets %q", got)
	}
	if st := r.Stats(); len(st) != 2 || st[0].Target != "tcp://"+b {
		t.Errorf("%+v", st)
	}
	if !log.Has("no messages go to a syslog server any more") || !log.Has(a) {
		t.Errorf("log: %s", log)
	}
	two.Key = "another list of authorities"
	before := (*r.servers.Load())[0].sender
	if r.Set([]Server{two}); (*r.servers.Load())[0].sender == before {
		t.Error("TLS stays as it was")
	}
	if r.Close(); r.Active() {
		t.Error("it has servers after the end")
	}
}

func TestHandlerLogsLocallyAndRemotely(t *testing.T) {
	address, listen := dead(t)
	var local logtest.Log
	r := NewRemote(slog.New(slog.DiscardHandler), nil)
	defer r.Close()
	log := slog.New(NewHandler(slog.NewTextHandler(&local, nil), r, "mgmt"))
	log.Info("nobody")
	r.Set([]Server{{Target: to(TCP, address)}})
	log.Debug("not enabled")
	log.With("farm", "shop").WithGroup("g").Error("it failed", "cause", "no\nroom", "msg", 1)
	log.Warn("bare")
	ln := listen()
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	raw := make([]byte, 0, 1000)
	for !strings.HasSuffix(string(raw), "bare") {
		n, err := c.Read(raw[len(raw):cap(raw)])
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		raw = raw[:len(raw)+n]
	}
	for _, want := range []string{"<27>1 ", `log [sluice@32473 role="mgmt"] it failed farm=shop g.cause="no\nroom" g.msg=1`, "<28>1 "} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%q is missing in %q", want, raw)
		}
	}
	if strings.Contains(string(raw), "nobody") || strings.Contains(string(raw), "not enabled") {
		t.Errorf("too much: %q", raw)
	}
	for _, want := range []string{"nobody", `level=ERROR msg="it failed" farm=shop g.cause=`, "bare"} {
		if !local.Has(want) {
			t.Errorf("%q is missing here: %s", want, &local)
		}
	}
	if !log.Enabled(context.Background(), slog.LevelInfo) || severity(slog.LevelDebug) != Debug || severity(slog.LevelInfo) != Info {
		t.Error("levels")
	}
}
