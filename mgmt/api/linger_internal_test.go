package api

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// endless is a body of a given size that counts the bytes read.
type endless struct {
	size, read int
	at         func() // called on each read
}

func (e *endless) Read(p []byte) (int, error) {
	if e.at != nil {
		e.at()
	}
	if e.read == e.size {
		return 0, io.EOF
	}
	n := min(len(p), e.size-e.read)
	e.read += n
	return n, nil
}

func (e *endless) Close() error { return nil }

// answering is the connection of a response. It records whether the response was sent, and
// the read deadline.
type answering struct {
	*httptest.ResponseRecorder
	sent     bool
	fails    error
	deadline time.Time
}

func (a *answering) FlushError() error                 { a.sent = true; return a.fails }
func (a *answering) SetReadDeadline(t time.Time) error { a.deadline = t; return nil }

// left serves a body of that size. The handler reads some of its bytes.
func left(l lingering, size, reads int) (*endless, *answering) {
	body, w := &endless{size: size}, &answering{ResponseRecorder: httptest.NewRecorder()}
	body.at = func() {
		if body.read > reads+256<<10 && !w.sent {
			panic("more is taken before the answer leaves")
		}
	}
	r := httptest.NewRequest(http.MethodPut, "/", nil)
	r.Body = body
	l.over(w, r, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.CopyN(io.Discard, r.Body, int64(reads)) })
	return body, w
}

func TestTheRestOfABodyIsTakenBehindTheAnswer(t *testing.T) {
	for _, c := range []struct {
		size, reads int
		sent        bool
	}{{100, 0, false}, {256<<10 - 1, 0, false}, {256<<10 + 1, 0, true}, {8 << 20, 5, true}, {8 << 20, 8 << 20, false}} {
		l := newLingering()
		body, w := left(l, c.size, c.reads)
		if body.read != c.size || w.sent != c.sent || len(l) != 0 {
			t.Errorf("of %d bytes %d are read; the answer leaves before: %t; %d linger", c.size, body.read, w.sent, len(l))
		}
		if in := time.Until(w.deadline); c.sent && (in < 10*time.Second || in > 15*time.Second) {
			t.Errorf("it is waited for until %v", w.deadline)
		}
	}
	body, _ := left(newLingering(), 2<<30, 10)
	if want := 10 + 256<<10 + 1<<30; body.read != want {
		t.Errorf("of an endless body %d bytes are read, want %d", body.read, want)
	}
}

// Long bodies on many connections must not occupy as many of the server's.
func TestOnlySoManyRestsAreTakenAtATime(t *testing.T) {
	l := newLingering()
	for range 8 {
		l <- struct{}{}
	}
	if body, w := left(l, 8<<20, 0); body.read != 256<<10 || w.sent || len(l) != 8 {
		t.Errorf("%d bytes are read beside %d others; the answer is sent first: %t", body.read, len(l), w.sent)
	}
	<-l
	if body, _ := left(l, 8<<20, 0); body.read != 8<<20 || len(l) != 7 {
		t.Errorf("%d bytes are read beside %d others", body.read, len(l))
	}
}

func TestNoRestsAreTakenFromAConnectionThatBroke(t *testing.T) {
	body, w := &endless{size: 8 << 20}, &answering{ResponseRecorder: httptest.NewRecorder(), fails: errors.New("broken")}
	l := newLingering()
	l.rest(w, body)
	if body.read != 256<<10 || len(l) != 0 {
		t.Errorf("%d bytes are read; %d linger", body.read, len(l))
	}
}

// A body that has ended is not read again. A body sent after 100 Continue is consumed like
// any other.
func TestOnlyWhatTheClientSendsIsTaken(t *testing.T) {
	for _, c := range []struct {
		expect      string
		reads, want int
	}{{"", 100, 100}, {"", 101, 100}, {"", 0, 100}, {"100-continue", 50, 100}, {"100-continue", 0, 0}} {
		body, ended := &endless{size: 100}, false
		r := httptest.NewRequest(http.MethodPut, "/", nil)
		r.Body = body
		r.Header.Set("Expect", c.expect)
		newLingering().over(httptest.NewRecorder(), r, func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.CopyN(io.Discard, r.Body, int64(c.reads))
			ended = err == io.EOF
			body.at = func() {
				if ended {
					t.Error("it is read on after its end")
				}
			}
		})
		if body.read != c.want || ended != (c.reads > 100) {
			t.Errorf("%+v: %d bytes are read", c, body.read)
		}
	}
}

func TestARequestWithoutABodyStaysAsItIs(t *testing.T) {
	for _, body := range []io.ReadCloser{nil, http.NoBody} {
		r, served := httptest.NewRequest(http.MethodGet, "/", nil), 0
		r.Body = body
		newLingering().over(httptest.NewRecorder(), r, func(_ http.ResponseWriter, got *http.Request) {
			if served++; got.Body != body {
				t.Errorf("%v became %v", body, got.Body)
			}
		})
		if served != 1 {
			t.Errorf("it is served %d times", served)
		}
	}
}
