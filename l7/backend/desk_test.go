package backend_test

import (
	"fmt"
	"io"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/dial"
)

// desk is a transport pool on a loop, without clients.
type desk struct {
	t    *testing.T
	loop *loop.Loop
	pool *backend.Pool
	to   dial.Target
}

func newDesk(t *testing.T, addr string) *desk {
	t.Helper()
	l, err := loop.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = l.Run() }()
	t.Cleanup(l.Stop)
	return &desk{t, l, backend.NewPool(l), dial.Target{ID: 1, Addr: netip.MustParseAddrPort(addr), Timeout: int64(5 * time.Second)}}
}

// on runs fn on the loop.
func (d *desk) on(fn func()) {
	done := make(chan struct{})
	d.loop.Post(func() { defer close(done); fn() })
	<-done
}

// exchange is an owner that sends its request as soon as possible and records its events:
// "connected", "answered ...", "drained", "expired", or the error.
type exchange struct {
	*desk
	backend.Transport
	request string
	open    bool // more of the request follows
	reused  bool
	answer  []byte
	heard   chan string
	why     *backend.Error // reason for an incomplete response
	read    func()         // replaces reading the whole response
}

// exchange prepares a request for path.
func (d *desk) exchange(path string) *exchange {
	return &exchange{desk: d, request: "GET " + path + " HTTP/1.1\r\nhost: a.test\r\n\r\n", heard: make(chan string, 100)}
}

// start requests a stream; edit may change the parameters.
func (e *exchange) start(edit ...func(to *dial.Target, ask *backend.Ask)) *exchange {
	e.t.Helper()
	e.on(func() { e.startNow(edit...) })
	return e
}

// startNow is start for callers on the loop.
func (e *exchange) startNow(edit ...func(to *dial.Target, ask *backend.Ask)) {
	to, ask := e.to, &backend.Ask{Owner: e, Bare: true, Timeout: int64(5 * time.Second)}
	for _, edit := range edit {
		edit(&to, ask)
	}
	up, established, err := e.pool.Stream(&to, ask)
	if err != nil {
		e.heard <- err.Error()
		return
	}
	e.Transport, e.reused = up, established
	if established {
		e.send()
	}
}

func (e *exchange) send() {
	if err := e.Send([]byte(e.request), !e.open, nil); err != nil {
		e.heard <- err.Error()
	}
}

// wants waits for the event.
func (e *exchange) wants(what string) {
	e.t.Helper()
	select {
	case got := <-e.heard:
		if got != what {
			e.t.Fatalf("got %q, want %q", got, what)
		}
	case <-time.After(20 * time.Second):
		e.t.Fatalf("no event, want %q", what)
	}
}

// BackendConnected implements backend.Owner.
func (e *exchange) BackendConnected(began int64, own bool, err error) {
	if err != nil {
		e.heard <- fmt.Sprintf("not connected, own %t: %v", own, err)
		return
	}
	if began <= 0 || began > e.loop.Now() {
		e.heard <- fmt.Sprintf("connected after a connect that began at %d, it is %d", began, e.loop.Now())
	}
	e.heard <- fmt.Sprintf("connected, own %t", own)
	e.send()
}

// BackendReadable implements backend.Owner.
func (e *exchange) BackendReadable() {
	if e.read != nil {
		e.read()
		return
	}
	for b := make([]byte, 4096); ; {
		switch n, err := e.Read(b); {
		case n > 0:
			e.answer = append(e.answer, b[:n]...)
		case err == loop.ErrDry:
			return
		case err == io.EOF:
			e.heard <- "answered"
			e.Finish(true)
			return
		default:
			e.why = backend.ErrorOf(err)
			e.heard <- err.Error()
			e.Discard()
			return
		}
	}
}

// BackendDrained implements backend.Owner.
func (e *exchange) BackendDrained() { e.heard <- "drained" }

// BackendExpired implements backend.Owner.
func (e *exchange) BackendExpired() {
	e.heard <- "expired"
	e.Discard()
}

// BackendFailed implements backend.Owner.
func (e *exchange) BackendFailed(err error) { e.heard <- err.Error() }
