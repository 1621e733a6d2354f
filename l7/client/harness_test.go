package client_test

import (
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/core/rejection"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/l7test"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// harness is a server on one loop whose exchanges are controlled by the test, for direct
// tests of client.Client.
type harness struct {
	*enginetest.House
	t        *testing.T
	loop     *loop.Loop
	server   *client.Server
	port     *ports.Port
	compiler *table.Compiler
	table    atomic.Pointer[table.Table]
	farm     farm.Farm
	request  http1.Request
	begun    chan *visit // requests in order of arrival
	said     chan answer // responses to input that never became a request
	answered int         // immediate responses
}

// answer holds the arguments of Handler.Answered.
type answer struct {
	class         rejection.Class
	status, bytes int
}

// timeout is the client timeout of a harness farm.
const timeout = 40 * time.Second

func newHarness(t *testing.T, edit func(*farm.HTTP), certificates ...farm.Certificate) *harness {
	t.Helper()
	h := &harness{House: enginetest.New(t, 1), t: t, begun: make(chan *visit, 1000), said: make(chan answer, 1000)}
	h.loop = h.Loops[0]
	log := rejection.New(h.Logger(), 1, rejected.Names[:]...)
	h.End(t, log.Close)
	h.Segment.NameClasses(rejected.Names[:]...)
	h.compiler = table.NewCompiler(state.New(1), h.Health, tlsconf.NewStore(tlsconf.Options{Prepare: loop.Prepare}))
	h.farm = farm.Farm{ID: 1, Name: "test", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("127.0.0.1"), HTTP: farm.DefaultHTTP()}
	h.farm.VPort = h.House.Listen(t, "127.0.0.1").Port()
	listener := farm.Listener{Transport: farm.L4TCP, Addr: h.farm.AddrPort()}
	h.port = &ports.Port{Listener: listener}
	h.farm.HTTP.RequestTimeout = farm.Seconds(timeout / time.Second)
	h.publish(edit, certificates...)
	h.server = client.NewServer(client.Config{
		Loop: h.loop, Handler: h, Request: &h.request, Table: &h.table, Shard: h.Segment.Shard(0),
		Rejections: log.Recorder(0), Penalties: client.NewPenalties(),
	})
	h.on(func() {
		if err := h.server.Listen(h.port, h.Files[listener.Key()][0]); err != nil {
			t.Error(err)
		}
	})
	return h
}

// publish serves the farm after edit.
func (h *harness) publish(edit func(*farm.HTTP), certificates ...farm.Certificate) {
	h.t.Helper()
	if edit != nil {
		edit(h.farm.HTTP)
	}
	t, problems := h.compiler.Compile(1, false, &farm.Config{Farms: []farm.Farm{h.farm}, Certificates: certificates}, nil)
	if len(problems) > 0 {
		h.t.Fatal(problems)
	}
	t.Build.Commit()
	t.Bind(h.port, 1)
	h.table.Store(t)
}

// stop removes the farm from the table and, with over, ends its connections.
func (h *harness) stop(over bool) {
	h.table.Store(&table.Table{})
	h.on(func() { h.server.Reconcile(map[*ports.Port]bool{h.port: over}) })
}

// on runs fn on the loop.
func (h *harness) on(fn func()) {
	done := make(chan struct{})
	h.loop.Post(func() { defer close(done); fn() })
	<-done
}

// skip advances the clock.
func (h *harness) skip(d time.Duration) { enginetest.Advance(h.loop, d) }

func (h *harness) dial() *l7test.Client { return l7test.Dial(h.t, h.farm.AddrPort().String()) }

func (h *harness) frames() *l7test.FrameClient {
	return l7test.DialFrames(h.t, h.farm.AddrPort().String())
}

// next returns the next request.
func (h *harness) next() *visit {
	h.t.Helper()
	select {
	case v := <-h.begun:
		return v
	case <-time.After(10 * time.Second):
		h.t.Fatal("no request came")
		return nil
	}
}

// counted waits until the farm has that many connections, and that many without a request.
func (h *harness) counted(established, pending uint64) {
	h.t.Helper()
	l7test.Eventually(h.t, "connections are counted in and out", func() bool {
		f := h.Segment.SumFarm(1)
		return f.Established == established && f.Pending == pending
	})
}

// Begin implements client.Handler. It uses the bytes of the body, unless the request says
// "Use: none".
func (h *harness) Begin(c client.Client, _ *table.Farm, head, rest []byte) (used int) {
	v := &visit{harness: h, client: c, head: string(head), rest: string(rest), events: make(chan string, 1000)}
	if n := h.request.ContentLength; n > 0 && h.request.Lookup("use") < 0 {
		used = min(int(n), len(rest))
	}
	switch path := string(h.request.Path); path {
	case "/large":
		c.Answer(make([]byte, large), false)
	case "/now", "/last": // immediate response without an exchange
		h.answered++
		c.Answer([]byte("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nours"), path == "/last")
	default:
		v.behind = h.answered
		c.Serve(v)
		h.begun <- v
	}
	return used
}

// Answered implements client.Handler.
func (h *harness) Answered(_ *client.Peer, _ *table.Farm, no *rejected.Cause, bytes int) {
	h.said <- answer{no.Class, no.Status, bytes}
}

// visit is an exchange controlled by the test.
type visit struct {
	*harness
	client     client.Client
	head, rest string
	events     chan string
	watches    client.Watch
	refuses    bool
	breaks     bool // panics at its end
	backend    uint32
	behind     int // immediate responses before it
}

func (v *visit) Proceed()              { v.events <- "proceed" }
func (v *visit) ClientReadable()       { v.events <- "readable" }
func (v *visit) ClientDrained()        { v.events <- "drained" }
func (v *visit) ClientExpired()        { v.events <- "expired" }
func (v *visit) Watches() client.Watch { return v.watches }
func (v *visit) BodyRefused() bool     { return v.refuses }

func (v *visit) CutOff(from func(uint32) bool) bool {
	v.events <- "cut off"
	return from(v.backend)
}

func (v *visit) End() {
	v.events <- "end"
	if v.breaks {
		panic("on purpose")
	}
}

func (v *visit) ClientGone() {
	v.client.Serve(nil)
	v.client.Close(true)
	v.events <- "gone"
}

func (v *visit) Abort() {
	v.client.Serve(nil)
	v.client.Close(false)
	v.events <- "abort"
}

// want checks the next events of the exchange.
func (v *visit) want(events ...string) {
	v.t.Helper()
	for _, want := range events {
		select {
		case got := <-v.events:
			if got != want {
				v.t.Fatalf("got %q, want %q", got, want)
			}
		case <-time.After(10 * time.Second):
			v.t.Fatalf("no event, want %q", want)
		}
	}
}

// quiet checks that no more events arrive.
func (v *visit) quiet() {
	v.t.Helper()
	v.Turn()
	select {
	case got := <-v.events:
		v.t.Fatalf("got %q", got)
	default:
	}
}

// do calls methods of the client on the loop.
func (v *visit) do(fn func(c client.Client)) { v.on(func() { fn(v.client) }) }

// finish sends a text response and ends the exchange.
func (v *visit) finish(keep, complete bool) {
	v.do(func(c client.Client) {
		if err := c.Respond([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"), []byte("ok"), true, !keep, nil); err != nil {
			v.t.Error(err)
		}
		c.Serve(nil)
		c.Finish(keep, complete)
	})
}

// read returns the result of ReadBody.
func (v *visit) read(most int) (text string, err error) {
	v.do(func(c client.Client) {
		var n int
		b := make([]byte, most)
		n, err = c.ReadBody(b)
		text = string(b[:n])
	})
	return text, err
}

func tcpOf(p *l7test.FrameClient) *net.TCPConn { return p.Conn.(*net.TCPConn) }
