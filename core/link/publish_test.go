package link_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/link"
)

func publish(t testing.TB, c *link.Client, snapshot string, opened map[string][]*os.File) link.Ack {
	t.Helper()
	ack, err := c.Publish(context.Background(), memory(t, snapshot), opened)
	if err != nil {
		t.Fatal(err)
	}
	return ack
}

func TestHelloReachesEveryClient(t *testing.T) {
	want := link.Hello{PID: 5, Layout: 2, Generation: 1 << 60, Loops: 4, Listeners: []string{"a", "b"}, Started: time.Unix(1_700_000_000, 123456789).UTC()}
	path := serve(t, &engine{hello: want})
	for range 2 {
		if got := dial(t, path).Hello(); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestSnapshotAndListenersArriveUnderTheirKeys(t *testing.T) {
	e := &engine{answer: func(snapshot []byte, opened map[string][]*os.File) link.Ack {
		ack := link.Ack{Generation: 9, Farms: map[uint32]string{7: "port taken"}}
		for _, key := range []string{"tcp 10.0.0.1:80", "tcp [::1]:81"} {
			ack.Listeners = append(ack.Listeners, key+"="+contents(opened[key]))
		}
		ack.Refused = fmt.Sprintf("%s with %d keys", snapshot, len(opened))
		return ack
	}}
	c := dial(t, serve(t, e))
	got := publish(t, c, "generation nine", map[string][]*os.File{
		"tcp [::1]:81":    {memory(t, "c")},
		"tcp 10.0.0.1:80": {memory(t, "a"), memory(t, "b")},
	})
	want := link.Ack{
		Generation: 9, Refused: "generation nine with 2 keys", Farms: map[uint32]string{7: "port taken"},
		Listeners: []string{"tcp 10.0.0.1:80=ab", "tcp [::1]:81=c"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestListenersOfEachAckArriveAlsoIfTheyAreTheSame(t *testing.T) {
	lists := [][]string{{"a", "b"}, {"a", "b"}, {"a", "c"}, {"a", "c"}, nil, nil, {"a", "c"}}
	e := &engine{hello: link.Hello{Listeners: lists[0]}, answer: func(snapshot []byte, _ map[string][]*os.File) link.Ack {
		i, err := strconv.Atoi(string(snapshot))
		if err != nil {
			return link.Ack{Refused: err.Error()}
		}
		return link.Ack{Listeners: lists[i]}
	}}
	path := serve(t, e)
	for range 2 { // a new connection knows no earlier list
		c := dial(t, path)
		for i, want := range lists {
			if got := publish(t, c, strconv.Itoa(i), nil).Listeners; !reflect.DeepEqual(got, want) {
				t.Errorf("ack %d: %q, want %q", i, got, want)
			}
		}
	}
}

func contents(files []*os.File) string {
	var all strings.Builder
	for _, f := range files {
		if _, err := io.Copy(&all, io.NewSectionReader(f, 0, 100)); err != nil {
			return err.Error()
		}
	}
	return all.String()
}

func TestManyListenersGoInSeveralFramesAndLeakNothing(t *testing.T) {
	opened := map[string][]*os.File{}
	for i := range 300 {
		f := memory(t, fmt.Sprint(i))
		opened[fmt.Sprintf("tcp 127.0.0.1:%d %s", i, strings.Repeat("k", 400))] = []*os.File{f, f, f} // 900 descriptors, 120 KiB
	}
	e := &engine{answer: func(_ []byte, got map[string][]*os.File) link.Ack {
		for key, sockets := range got {
			number := strings.TrimPrefix(strings.Fields(key)[1], "127.0.0.1:")
			if contents(sockets) != strings.Repeat(number, 3) {
				return link.Ack{Refused: fmt.Sprintf("%.20q holds %q", key, contents(sockets))}
			}
		}
		return link.Ack{Generation: uint64(len(got))}
	}}
	c := dial(t, serve(t, e))
	snapshot := memory(t, "s")
	before := descriptors()
	for range 3 {
		ack, err := c.Publish(context.Background(), snapshot, opened)
		if err != nil || ack.Generation != 300 || ack.Refused != "" {
			t.Fatalf("got %+v, %v", ack, err)
		}
	}
	if after := descriptors(); after != before {
		t.Errorf("descriptors: %d before, %d after", before, after)
	}
}

func TestLongAnswersArriveClipped(t *testing.T) {
	e := &engine{answer: func([]byte, map[string][]*os.File) link.Ack {
		ack := link.Ack{Farms: map[uint32]string{}, Refused: strings.Repeat("é", 1<<20)}
		for id := range uint32(4096) {
			ack.Farms[id] = strings.Repeat("x", 10_000)
		}
		return ack
	}}
	ack := publish(t, dial(t, serve(t, e)), "s", nil)
	if len(ack.Farms) != 4096 || len(ack.Farms[4095]) != 512 || len(ack.Refused) > 5000 || !strings.HasSuffix(ack.Refused, "é...") {
		t.Errorf("got %d farms, %d bytes, refused %d bytes", len(ack.Farms), len(ack.Farms[4095]), len(ack.Refused))
	}
}

func TestConcurrentPublicationsAreAllAnswered(t *testing.T) {
	e := &engine{}
	c := dial(t, serve(t, e))
	var wg sync.WaitGroup
	for i := range 20 {
		f := memory(t, strings.Repeat("s", i+1))
		wg.Go(func() {
			ack, err := c.Publish(context.Background(), f, nil)
			if err != nil || ack.Generation != uint64(i+1) {
				t.Errorf("publication %d: got %+v, %v", i, ack, err)
			}
		})
	}
	wg.Wait()
	if calls, overlaps := e.count(); calls != 20 || overlaps != 0 {
		t.Errorf("%d calls, %d at the same time as another", calls, overlaps)
	}
}

func TestPanicOfTheHandlerIsARejection(t *testing.T) {
	e := &engine{hello: link.Hello{Generation: 3}}
	e.answer = func(s []byte, _ map[string][]*os.File) link.Ack {
		if string(s) == "bad" {
			panic("index out of range")
		}
		return link.Ack{Generation: 4}
	}
	c := dial(t, serve(t, e))
	if ack := publish(t, c, "bad", nil); ack.Generation != 3 || !strings.Contains(ack.Refused, "index out of range") {
		t.Errorf("got %+v", ack)
	}
	if ack := publish(t, c, "good", nil); ack.Generation != 4 || ack.Refused != "" {
		t.Errorf("after the panic: got %+v", ack)
	}
}

func TestWrongArgumentsLeaveTheConnectionUsable(t *testing.T) {
	c := dial(t, serve(t, &engine{}))
	f := memory(t, "s")
	sockets := make([]*os.File, 1<<14)
	for i := range sockets {
		sockets[i] = f
	}
	huge := map[string][]*os.File{strings.Repeat("k", 4<<20): {f}}
	for name, try := range map[string]func() (link.Ack, error){
		"no snapshot":    func() (link.Ack, error) { return c.Publish(context.Background(), nil, nil) },
		"no key":         func() (link.Ack, error) { return c.Publish(context.Background(), f, map[string][]*os.File{"": {f}}) },
		"no descriptors": func() (link.Ack, error) { return c.Publish(context.Background(), f, map[string][]*os.File{"k": nil}) },
		"too many": func() (link.Ack, error) {
			return c.Publish(context.Background(), f, map[string][]*os.File{"k": sockets})
		},
		"too long": func() (link.Ack, error) { return c.Publish(context.Background(), f, huge) },
		"ended context": func() (link.Ack, error) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			for range 20 { // the fault would occur at random
				if ack, err := c.Publish(ctx, f, nil); err == nil {
					return ack, nil
				}
			}
			return c.Publish(ctx, f, nil)
		},
	} {
		if ack, err := try(); err == nil || errors.Is(err, link.ErrGone) {
			t.Errorf("%s: got %+v, %v", name, ack, err)
		}
	}
	if ack := publish(t, c, "still", nil); ack.Generation != 5 {
		t.Errorf("got %+v", ack)
	}
}

func TestContextEndsTheWaitAndTheConnection(t *testing.T) {
	release := make(chan struct{})
	e := &engine{answer: func([]byte, map[string][]*os.File) link.Ack { <-release; return link.Ack{} }}
	c := dial(t, serve(t, e))
	t.Cleanup(func() { close(release) })
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := c.Publish(ctx, memory(t, "s"), nil)
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, link.ErrGone) {
		t.Errorf("got %v", err)
	}
	closedSoon(t, c.Done())
}
