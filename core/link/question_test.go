package link_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/core/shm"
)

// table returns an engine whose service 7 has count sessions.
func table(count int) *engine {
	return &engine{sessions: func(service uint32, limit int) (total int, list []link.Session) {
		if service != 7 {
			return 0, nil
		}
		for i := range min(count, limit) {
			list = append(list, link.Session{Key: fmt.Appendf(nil, "client %d", i), Backend: uint32(i), TTL: time.Duration(i) * time.Second})
		}
		return count, list
	}}
}

// stuck returns an engine that answers questions only after release. asked receives
// each question.
func stuck(t testing.TB) (e *engine, asked chan struct{}, release func()) {
	t.Helper()
	wait := make(chan struct{})
	asked = make(chan struct{}, 100)
	e = &engine{sessions: func(uint32, int) (int, []link.Session) {
		asked <- struct{}{}
		<-wait
		return 4, nil
	}}
	release = sync.OnceFunc(func() { close(wait) })
	return e, asked, release
}

func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

func wantTotal(t testing.TB, c *link.Client, want int) {
	t.Helper()
	if total, _, err := c.Sessions(context.Background(), 7, 0); err != nil || total != want {
		t.Errorf("%d sessions, %v; want %d", total, err, want)
	}
}

func TestSessionsComeWithTheTrueTotal(t *testing.T) {
	c := dial(t, serve(t, table(5)))
	total, list, err := c.Sessions(context.Background(), 7, 2)
	want := []link.Session{{Key: []byte("client 0")}, {Key: []byte("client 1"), Backend: 1, TTL: time.Second}}
	if err != nil || total != 5 || !reflect.DeepEqual(list, want) {
		t.Errorf("%d sessions, %+v, %v", total, list, err)
	}
	for _, limit := range []int{0, -3} {
		if total, list, err := c.Sessions(context.Background(), 7, limit); err != nil || total != 5 || len(list) != 0 {
			t.Errorf("limit %d: %d sessions, %+v, %v", limit, total, list, err)
		}
	}
	if total, list, err := c.Sessions(context.Background(), 8, 10); err != nil || total != 0 || len(list) != 0 {
		t.Errorf("another service: %d sessions, %+v, %v", total, list, err)
	}
}

func TestLargestAnswerArrivesAndIsBounded(t *testing.T) {
	var asked atomic.Int64
	var length atomic.Int64
	c := dial(t, serve(t, &engine{sessions: func(_ uint32, limit int) (int, []link.Session) {
		asked.Store(int64(limit))
		list := make([]link.Session, 2*link.MaxCarried)
		for i := range list {
			list[i] = link.Session{Key: bytes.Repeat([]byte{0xff}, int(length.Load())), Backend: 1<<32 - 1, TTL: 1 << 62} // not valid text
		}
		return 1 << 20, list
	}}))
	for _, test := range []struct{ length, least int }{{60, link.MaxCarried}, {255, 14_000}} {
		length.Store(int64(test.length))
		total, list, err := c.Sessions(context.Background(), 7, 1<<40)
		if err != nil || total != 1<<20 || len(list) < test.least || len(list) > link.MaxCarried || asked.Load() != link.MaxCarried {
			t.Fatalf("%d sessions, %d listed, %d requested, %v", total, len(list), asked.Load(), err)
		}
		if last := list[len(list)-1]; len(last.Key) != test.length || last.Key[0] != 0xff || last.TTL != 1<<62 {
			t.Fatalf("the last one is %+v", last)
		}
	}
}

func TestQueryDuringAPublicationIsAnsweredAfterIt(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	e := table(3)
	e.answer = func([]byte, map[string][]*os.File) link.Ack {
		close(entered)
		<-release
		return link.Ack{Generation: 6}
	}
	c := dial(t, serve(t, e))
	snapshot := memory(t, "s")
	published := make(chan error, 1)
	go func() {
		ack, err := c.Publish(context.Background(), snapshot, nil)
		if err == nil && ack.Generation != 6 {
			err = fmt.Errorf("got %+v", ack)
		}
		published <- err
	}()
	<-entered
	if _, _, err := c.Sessions(soon(t), 7, 1); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, link.ErrGone) {
		t.Errorf("got %v", err)
	}
	close(release)
	wantTotal(t, c, 3)
	if err := <-published; err != nil {
		t.Error(err)
	}
}

func TestPublicationDoesNotWaitForAQuery(t *testing.T) {
	e, asked, release := stuck(t)
	c := dial(t, serve(t, e))
	t.Cleanup(release)
	answered := make(chan error, 1)
	go func() {
		_, _, err := c.Sessions(context.Background(), 7, 1)
		answered <- err
	}()
	<-asked
	for range 3 {
		if ack := publish(t, c, "four", nil); ack.Generation != 4 {
			t.Errorf("got %+v", ack)
		}
	}
	release()
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

func TestCancelledQueryKeepsTheConnection(t *testing.T) {
	e, asked, release := stuck(t)
	c := dial(t, serve(t, e))
	t.Cleanup(release)
	for range 3 { // the second one is not even sent
		if _, _, err := c.Sessions(soon(t), 7, 1); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, link.ErrGone) {
			t.Errorf("got %v", err)
		}
	}
	if len(asked) > 1 {
		t.Errorf("%d questions were sent to an engine that does not answer", len(asked))
	}
	publish(t, c, "s", nil)
	release()
	wantTotal(t, c, 4)
}

func TestConcurrentQueriesAndPublicationsAreAllAnswered(t *testing.T) {
	e := table(900)
	c := dial(t, serve(t, e))
	var wg sync.WaitGroup
	for i := range 10 {
		f := memory(t, strings.Repeat("s", i+1))
		wg.Go(func() {
			for range 20 {
				if ack, err := c.Publish(context.Background(), f, nil); err != nil || ack.Generation != uint64(i+1) {
					t.Errorf("publication %d: got %+v, %v", i, ack, err)
				}
			}
		})
		wg.Go(func() {
			for range 20 {
				total, list, err := c.Sessions(context.Background(), 7, i*100)
				for errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, link.ErrGone) { // it was not sent
					total, list, err = c.Sessions(context.Background(), 7, i*100)
				}
				if err != nil || total != 900 || len(list) != i*100 {
					t.Errorf("question %d: %d sessions, %d listed, %v", i, total, len(list), err)
				}
			}
		})
		wg.Go(func() { // must not do harm
			for range 20 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*20*time.Microsecond)
				if _, _, err := c.Sessions(ctx, 7, 900); errors.Is(err, link.ErrGone) {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if calls, overlaps := e.count(); calls != 200 || overlaps != 0 {
		t.Errorf("%d calls, %d at the same time as another", calls, overlaps)
	}
}

func TestClientLeavingDuringAQueryAffectsNoOther(t *testing.T) {
	e, asked, release := stuck(t)
	path := serve(t, e)
	t.Cleanup(release)
	c := dial(t, path)
	answered := make(chan error, 1)
	go func() {
		_, _, err := c.Sessions(context.Background(), 7, 1)
		answered <- err
	}()
	<-asked
	c.Close()
	if err := <-answered; !errors.Is(err, link.ErrGone) {
		t.Errorf("got %v", err)
	}
	if _, _, err := c.Sessions(context.Background(), 7, 1); !errors.Is(err, link.ErrGone) {
		t.Errorf("after that: got %v", err)
	}
	release()
	next := dial(t, path)
	publish(t, next, "s", nil)
	wantTotal(t, next, 4)
}

func TestEngineCrashFailsThePendingQuery(t *testing.T) {
	c := dial(t, fakeEngine(t, func(c *net.UnixConn) {
		hello(c)
		shm.Receive(c, make([]byte, shm.MaxMessage))
	}))
	if _, _, err := c.Sessions(context.Background(), 7, 1); !errors.Is(err, link.ErrGone) {
		t.Errorf("got %v", err)
	}
}

func TestQueryAnswerBeforeACrashCounts(t *testing.T) {
	for range 20 {
		c := dial(t, fakeEngine(t, func(c *net.UnixConn) {
			hello(c)
			shm.Receive(c, make([]byte, shm.MaxMessage))
			shm.Send(c, frame(0, link.EncodedAnswer(8, nil, "")))
		}))
		wantTotal(t, c, 8)
	}
}

func TestMismatchedAnswersDropTheEngine(t *testing.T) {
	one := []link.Session{{Key: []byte("k")}}
	for name, answer := range map[string][]byte{
		"more than were asked for": link.EncodedAnswer(2, append(one, one...), ""),
		"more than there are":      link.EncodedAnswer(0, one, ""),
		"less than nothing":        link.EncodedAnswer(-1, nil, ""),
		"an ack":                   link.EncodedAck(link.Ack{}),
	} {
		c := dial(t, fakeEngine(t, func(c *net.UnixConn) {
			hello(c)
			shm.Receive(c, make([]byte, shm.MaxMessage))
			shm.Send(c, frame(0, answer))
			shm.Receive(c, make([]byte, 10))
		}))
		if _, _, err := c.Sessions(context.Background(), 7, 1); !errors.Is(err, link.ErrProtocol) || !errors.Is(err, link.ErrGone) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	// No text was requested.
	c := dial(t, fakeEngine(t, func(c *net.UnixConn) {
		hello(c)
		shm.Receive(c, make([]byte, shm.MaxMessage))
		shm.Send(c, frame(0, link.EncodedText("text")))
		shm.Receive(c, make([]byte, 10))
	}))
	if _, _, err := c.Sessions(context.Background(), 7, 1); !errors.Is(err, link.ErrProtocol) {
		t.Errorf("a text: got %v", err)
	}
	// The answer for one key has at most one session, that for an end only a number.
	for name, ask := range map[string]func(c *link.Client) error{
		"a session": func(c *link.Client) error { _, _, err := c.Session(context.Background(), 7, []byte("k")); return err },
		"an end":    func(c *link.Client) error { _, err := c.EndConnections(context.Background(), nil); return err },
	} {
		c := dial(t, fakeEngine(t, func(c *net.UnixConn) {
			hello(c)
			shm.Receive(c, make([]byte, shm.MaxMessage))
			shm.Send(c, frame(0, link.EncodedAnswer(2, append(one, one...), "")))
			shm.Receive(c, make([]byte, 10))
		}))
		if err := ask(c); !errors.Is(err, link.ErrProtocol) || !errors.Is(err, link.ErrGone) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// If an engine has stopped reading, a publication must not wait for questions that the full
// buffer holds back.
func TestQueryWithoutRoomIsNotSent(t *testing.T) {
	end := make(chan struct{})
	c := dial(t, fakeEngine(t, func(c *net.UnixConn) { hello(c); <-end }))
	t.Cleanup(func() { close(end) })
	large := map[string][]*os.File{strings.Repeat("k", 1<<20): {memory(t, "l")}}
	snapshot := memory(t, "s")
	published := make(chan error, 1)
	go func() {
		_, err := c.Publish(context.Background(), snapshot, large)
		published <- err
	}()
	if _, _, err := c.Sessions(soon(t), 7, 1); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := <-published; !errors.Is(err, link.ErrGone) {
		t.Errorf("publication: got %v", err)
	}
}

func TestPanicOfAQueryIsAnError(t *testing.T) {
	e := table(2)
	fine := e.sessions
	e.sessions = func(service uint32, limit int) (int, []link.Session) {
		if service == 666 {
			panic("index out of range")
		}
		return fine(service, limit)
	}
	c := dial(t, serve(t, e))
	if _, _, err := c.Sessions(context.Background(), 666, 1); err == nil || errors.Is(err, link.ErrGone) || !strings.Contains(err.Error(), "internal error") {
		t.Errorf("got %v", err)
	}
	wantTotal(t, c, 2)
}

func TestClientNotAwaitingAnswersIsClosed(t *testing.T) {
	e, asked, release := stuck(t)
	path := serve(t, e)
	t.Cleanup(release)
	conn := raw(t, path)
	conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
	for shm.Send(conn, frame(0, link.EncodedQuestion(7, 1))) == nil {
		continue // until it is closed
	}
	if len(asked) > 1 {
		t.Errorf("%d questions at once", len(asked))
	}
	release()
	waitClosed(t, conn)
	wantTotal(t, dial(t, path), 4)
}
