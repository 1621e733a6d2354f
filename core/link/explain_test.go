package link_test

import (
	"context"
	"errors"
	"net"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/core/shm"
)

// explained has all fields of an explanation set.
var explained = func() explain.Explanation {
	two := 2
	return explain.Explanation{
		Farm: "shop", Listener: "192.0.2.1:80", TLS: true, Generation: 1 << 63, From: "::1", SNI: "a.test",
		Request:  &explain.Request{Method: "GET", Host: "a.test", Path: "/\xff", Trusted: true},
		Steps:    []explain.Step{{Name: "method", Passed: true}, {Name: "limits", Reason: "too long"}},
		Services: []explain.Service{{Name: "web", Matched: true, Reason: "takes all"}}, NotTried: 3,
		Changes:     []explain.Change{{Kind: "rewrite-url", Owner: "service", Rule: -1, Header: "X", Before: "/a", After: "/b", Last: true}},
		Cookie:      &explain.Cookie{Name: "LB", Backend: &two, Reason: "it names it"},
		Persistence: &explain.Persistence{Kind: "IP", Name: "sid", Key: "::1", Found: true, Static: true, Backend: &two, Reason: "there is one"},
		Balance: &explain.Balance{Algorithm: "round robin", Protocol: "h2", Pinned: true, Random: true, Level: 2, Backends: []explain.Backend{{
			ID: 2, Address: "10.0.0.1:80", Alias: "b", Weight: 9, Priority: 9, Status: "up", InFlight: 1 << 40, Limit: 5, Cost: "2 pending", Chosen: true, Might: true,
			Reason: "its turn", Maintenance: "drain"}}},
		Head: []string{"GET / HTTP/1.1", "Host: a.test"},

		AnswerChanges: []explain.Change{{Kind: "add-header", Owner: "farm", Header: "X", After: "1"}}, AnswerHead: []string{"HTTP/1.1 200 OK", "X: 1"},

		Result: explain.Result{Outcome: "forward", Status: 503, Reason: "its turn", Step: "limits", Location: "/", Service: "web", Backend: &two, Address: "a", Decision: "session"},
	}
}()

func TestRequestsAreExplainedOrRefused(t *testing.T) {
	c := dial(t, serve(t, &engine{}))
	lines := []string{"Host: a.test", "X: \xff"}
	if e, err := c.Explain(context.Background(), explain.Question{Farm: 7, URL: "/x", Headers: lines}); err != nil || e.Farm != "/x" || !reflect.DeepEqual(e.Head, lines) {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := c.Explain(context.Background(), explain.Question{}); e != nil || !errors.Is(err, link.ErrRefused) || !strings.Contains(err.Error(), "no URL") {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := c.Explain(context.Background(), explain.Question{URL: "panic"}); err == nil || errors.Is(err, link.ErrRefused) || errors.Is(err, link.ErrGone) {
		t.Errorf("a panic is answered %v", err)
	}
	publish(t, c, "s", nil)
	if _, err := c.Explain(context.Background(), explain.Question{URL: "endless"}); !errors.Is(err, link.ErrGone) {
		t.Errorf("an explanation larger than an answer returns %v", err)
	}
}

// All fields arrive, and so does an explanation of the largest size.
func TestExplanationsArriveWhole(t *testing.T) {
	large := explained
	text := strings.Repeat("x", explain.MaxText)
	for range explain.MaxItems {
		large.Services = append(large.Services, explain.Service{Name: "web", Reason: text})
	}
	for range explain.MaxChanges {
		large.Changes = append(large.Changes, explain.Change{Before: text, After: text})
	}
	large.AnswerHead = []string{strings.Repeat("x", explain.MaxQuestion)}
	for _, want := range []explain.Explanation{explained, large} {
		c := dial(t, fakeEngine(t, func(c *net.UnixConn) {
			hello(c)
			shm.Receive(c, make([]byte, shm.MaxMessage))
			b := link.EncodedExplanation(want)
			for len(b) > 0 {
				n := min(len(b), 60000)
				more := byte(1)
				if n == len(b) {
					more = 0
				}
				shm.Send(c, frame(more, b[:n]))
				b = b[n:]
			}
		}))
		if got, err := c.Explain(context.Background(), explain.Question{URL: "/"}); err != nil || !reflect.DeepEqual(*got, want) {
			t.Fatalf("%+v, %v", got, err)
		}
	}
}

func TestAnAnswerWithoutAnExplanationIsAnError(t *testing.T) {
	c := dial(t, fakeEngine(t, func(c *net.UnixConn) {
		hello(c)
		shm.Receive(c, make([]byte, shm.MaxMessage))
		shm.Send(c, frame(0, link.EncodedAnswer(0, nil, "")))
		shm.Receive(c, make([]byte, 10))
	}))
	if e, err := c.Explain(context.Background(), explain.Question{URL: "/"}); e != nil || err == nil || errors.Is(err, link.ErrRefused) || errors.Is(err, link.ErrGone) {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestUnsolicitedExplanationDropsTheEngine(t *testing.T) {
	c := dial(t, fakeEngine(t, func(c *net.UnixConn) {
		hello(c)
		shm.Receive(c, make([]byte, shm.MaxMessage))
		shm.Send(c, frame(0, link.EncodedExplanation(explain.Explanation{})))
		shm.Receive(c, make([]byte, 10))
	}))
	if _, _, err := c.Sessions(context.Background(), 7, 1); !errors.Is(err, link.ErrProtocol) {
		t.Errorf("got %v", err)
	}
}
