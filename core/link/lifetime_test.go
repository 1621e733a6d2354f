package link_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/core/shm"
)

func TestNewConnectionReplacesTheOldOne(t *testing.T) {
	path := serve(t, &engine{})
	old := dial(t, path)
	publish(t, old, "s", nil)
	replacement := dial(t, path)
	closedSoon(t, old.Done())
	if _, err := old.Publish(context.Background(), memory(t, "s"), nil); !errors.Is(err, link.ErrGone) {
		t.Errorf("the old connection: got %v", err)
	}
	publish(t, replacement, "s", nil)
}

// A publication in progress ends before the next publisher starts.
func TestReplacementWaitsForThePublicationUnderWay(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	e := &engine{answer: func([]byte, map[string][]*os.File) link.Ack {
		once.Do(func() { close(entered); <-release })
		return link.Ack{}
	}}
	path := serve(t, e)
	old := dial(t, path)
	first := make(chan error, 1)
	snapshot := memory(t, "s")
	go func() {
		_, err := old.Publish(context.Background(), snapshot, nil)
		first <- err
	}()
	<-entered
	go func() {
		time.Sleep(20 * time.Millisecond) // lets the next one connect meanwhile
		close(release)
	}()
	publish(t, dial(t, path), "s", nil)
	if err := <-first; err != nil && !errors.Is(err, link.ErrGone) {
		t.Errorf("got %v", err)
	}
	if calls, overlaps := e.count(); calls != 2 || overlaps != 0 {
		t.Errorf("%d calls, %d at the same time as another", calls, overlaps)
	}
}

func TestClientDetectsEngineExitImmediately(t *testing.T) {
	path, stop := serveUntil(t, &engine{})
	c := dial(t, path)
	select {
	case <-c.Done():
		t.Fatal("Done is closed while the engine lives")
	default:
	}
	stop()
	closedSoon(t, c.Done())
	if _, err := c.Publish(context.Background(), memory(t, "s"), nil); !errors.Is(err, link.ErrGone) {
		t.Errorf("publish: got %v", err)
	}
	if _, err := link.Dial(context.Background(), path); err == nil {
		t.Error("a dead engine was dialed")
	}
}

// fakeEngine accepts one connection, sends a hello and passes the connection to do.
func fakeEngine(t testing.TB, do func(c *net.UnixConn)) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "fake.sock")
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c, err := l.AcceptUnix()
		if err != nil {
			return
		}
		defer c.Close()
		do(c)
	}()
	t.Cleanup(func() { l.Close(); <-ended })
	return path
}

func hello(c *net.UnixConn) { shm.Send(c, frame(0, link.EncodedHello(link.Hello{PID: 1}))) }

func TestEngineThatDiesDuringAPublicationFailsIt(t *testing.T) {
	c := dial(t, fakeEngine(t, func(c *net.UnixConn) {
		hello(c)
		_, files, _ := shm.Receive(c, make([]byte, shm.MaxMessage))
		for _, f := range files {
			f.Close()
		}
	}))
	if ack, err := c.Publish(context.Background(), memory(t, "s"), nil); !errors.Is(err, link.ErrGone) {
		t.Errorf("got %+v, %v", ack, err)
	}
	closedSoon(t, c.Done())
}

func TestASecondAckDropsTheEngine(t *testing.T) {
	c := dial(t, fakeEngine(t, func(c *net.UnixConn) {
		hello(c)
		_, files, _ := shm.Receive(c, make([]byte, shm.MaxMessage))
		for _, f := range files {
			f.Close()
		}
		for range 2 {
			shm.Send(c, frame(0, link.EncodedAck(link.Ack{Generation: 8})))
		}
		shm.Receive(c, make([]byte, 10))
	}))
	if ack, err := c.Publish(context.Background(), memory(t, "s"), nil); err != nil || ack.Generation != 8 {
		t.Errorf("got %+v, %v", ack, err)
	}
	closedSoon(t, c.Done())
}

func TestAnswerSentBeforeTheEngineDiedCounts(t *testing.T) {
	for range 20 {
		c := dial(t, fakeEngine(t, func(c *net.UnixConn) {
			hello(c)
			_, files, _ := shm.Receive(c, make([]byte, shm.MaxMessage))
			for _, f := range files {
				f.Close()
			}
			shm.Send(c, frame(0, link.EncodedAck(link.Ack{Generation: 8})))
		}))
		if ack, err := c.Publish(context.Background(), memory(t, "s"), nil); err != nil || ack.Generation != 8 {
			t.Fatalf("got %+v, %v", ack, err)
		}
	}
}

func TestEngineThatBreaksTheProtocolIsDropped(t *testing.T) {
	for name, packet := range map[string][]byte{
		"an ack nobody asked for":    frame(0, link.EncodedAck(link.Ack{})),
		"an answer nobody asked for": frame(0, link.EncodedAnswer(0, nil, "")),
		"a question from the engine": frame(0, link.EncodedQuestion(1, 1)),
		"noise":                      []byte("noise"),
		"a second hello":             frame(0, link.EncodedHello(link.Hello{})),
	} {
		c := dial(t, fakeEngine(t, func(c *net.UnixConn) {
			hello(c)
			shm.Send(c, packet)
			shm.Receive(c, make([]byte, 10))
		}))
		closedSoon(t, c.Done())
		if _, err := c.Publish(context.Background(), memory(t, "s"), nil); !errors.Is(err, link.ErrProtocol) || !errors.Is(err, link.ErrGone) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Messages of an engine have no descriptors. Any that arrive are closed.
func TestEngineThatSendsDescriptorsIsDropped(t *testing.T) {
	many := make([]*os.File, 20)
	for i := range many {
		many[i] = memory(t, "s")
	}
	for name, answer := range map[string][]byte{"a hello": nil, "an ack": link.EncodedAck(link.Ack{}), "an answer": link.EncodedAnswer(0, nil, "")} {
		before := descriptors()
		path := fakeEngine(t, func(c *net.UnixConn) {
			if answer == nil {
				shm.Send(c, frame(0, link.EncodedHello(link.Hello{PID: 1})), many...)
				return
			}
			hello(c)
			_, files, _ := shm.Receive(c, make([]byte, shm.MaxMessage))
			for _, f := range files {
				f.Close()
			}
			shm.Send(c, frame(0, answer), many...)
			shm.Receive(c, make([]byte, 10))
		})
		c, err := link.Dial(context.Background(), path)
		if err == nil {
			if name == "an ack" {
				_, err = c.Publish(context.Background(), many[0], nil)
			} else {
				_, _, err = c.Sessions(context.Background(), 7, 1)
			}
			c.Close()
		}
		if !errors.Is(err, link.ErrProtocol) {
			t.Errorf("%s: got %v", name, err)
		}
		if after := descriptors(); after > before+10 { // its socket and its end may still be open
			t.Errorf("%s: descriptors %d before, %d after", name, before, after)
		}
	}
}

func TestDialGivesUpOnASilentEngine(t *testing.T) {
	silent := func(c *net.UnixConn) { shm.Receive(c, make([]byte, 10)) }
	if _, err := link.Dial(context.Background(), fakeEngine(t, silent)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the default timeout: got %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := link.Dial(ctx, fakeEngine(t, silent)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("by its context: got %v", err)
	}
	noHello := func(c *net.UnixConn) { shm.Send(c, frame(0, link.EncodedAck(link.Ack{}))) }
	if _, err := link.Dial(context.Background(), fakeEngine(t, noHello)); !errors.Is(err, link.ErrProtocol) {
		t.Errorf("no hello: got %v", err)
	}
}

func TestCloseEndsAPublicationUnderWay(t *testing.T) {
	c := dial(t, fakeEngine(t, func(c *net.UnixConn) {
		hello(c)
		for {
			_, files, err := shm.Receive(c, make([]byte, shm.MaxMessage))
			for _, f := range files {
				f.Close()
			}
			if err != nil {
				return
			}
		}
	}))
	go func() { time.Sleep(10 * time.Millisecond); c.Close() }()
	if _, err := c.Publish(context.Background(), memory(t, "s"), nil); !errors.Is(err, link.ErrGone) {
		t.Errorf("got %v", err)
	}
	c.Close()
}

func TestServeReportsABrokenListener(t *testing.T) {
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := link.Serve(context.Background(), l, &engine{}); err == nil {
		t.Error("a closed listener was served")
	}
}
