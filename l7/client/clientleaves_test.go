package client_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/l7/l7test"
)

// thinker is a backend that delays /think until answer.
type thinker struct {
	*l7test.Backend
	asked, answer chan struct{}
}

func newThinker(t *testing.T) *thinker {
	th := &thinker{asked: make(chan struct{}, 100), answer: make(chan struct{}, 100)}
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	th.Backend = l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			head, err := c.Head()
			if err != nil {
				return
			}
			if strings.Contains(head, " /think ") {
				th.asked <- struct{}{}
				go func() {
					select {
					case <-th.answer:
						c.Say(ok)
					case <-over:
					}
				}()
			} else {
				c.Say(ok)
			}
		}
	})
	return th
}

// service has room for one exchange; kept lets exchanges continue after a half-close.
func (th *thinker) service(kept bool) farm.Service {
	s := l7test.Service("web", th.Addr)
	s.Backends[0].ConnLimit, s.IgnoreClose = 1, kept
	return s
}

// visitor is a client over a plain or TLS connection.
type visitor struct {
	t      *testing.T
	tcp    *net.TCPConn
	secure *tls.Conn
	conn   net.Conn // the connection to use
	r      *bufio.Reader
}

func visitorOf(t *testing.T, addr string, secure bool) *visitor {
	t.Helper()
	return visitorOn(t, l7test.Dial(t, addr).TCPConn, secure)
}

func visitorOn(t *testing.T, tcp *net.TCPConn, secure bool) *visitor {
	v := &visitor{t: t, tcp: tcp}
	v.conn = v.tcp
	if secure {
		v.secure = tls.Client(v.tcp, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
		v.conn = v.secure
	}
	v.r = bufio.NewReader(v.conn)
	return v
}

func (v *visitor) say(text string) {
	v.t.Helper()
	if _, err := io.WriteString(v.conn, text); err != nil {
		v.t.Fatal(err)
	}
}

func (v *visitor) answered() {
	v.t.Helper()
	res, err := http.ReadResponse(v.r, nil)
	if err != nil || res.StatusCode != 200 {
		v.t.Fatalf("no answer: %v %v", res, err)
	}
	if b, err := io.ReadAll(res.Body); string(b) != "ok" || err != nil {
		v.t.Fatalf("the answer is %q, %v", b, err)
	}
}

func (v *visitor) reset() {
	_ = v.tcp.SetLinger(0)
	_ = v.tcp.Close()
}

// waysToLeave are ways to end a connection. gone means that the client certainly left,
// regardless of abortonclose.
var waysToLeave = map[string]struct {
	secure, gone bool
	leave        func(v *visitor)
}{
	"reset":                     {false, true, (*visitor).reset},
	"FIN":                       {false, false, func(v *visitor) { _ = v.tcp.CloseWrite() }},
	"FIN behind a request":      {false, false, func(v *visitor) { v.say(get("/next")); _ = v.tcp.CloseWrite() }},
	"TLS, reset":                {true, true, (*visitor).reset},
	"TLS, FIN":                  {true, false, func(v *visitor) { _ = v.tcp.CloseWrite() }},
	"TLS, close_notify":         {true, false, func(v *visitor) { _ = v.secure.CloseWrite() }},
	"TLS, close_notify and FIN": {true, false, func(v *visitor) { _ = v.secure.CloseWrite(); _ = v.tcp.CloseWrite() }},
}

// everyWayToLeave runs a test for each of them and each kind of service.
func everyWayToLeave(t *testing.T, test func(t *testing.T, v *visitor, a *l7test.Appliance, th *thinker, leave func(*visitor), ends bool)) {
	for name, way := range waysToLeave {
		for _, kept := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, abortonclose %t", name, !kept), func(t *testing.T) {
				t.Parallel()
				th, a := newThinker(t), l7test.New(t, 1)
				edit := logs
				if way.secure {
					secured := a.HTTPS(l7test.Certificate(t, "ec.pem", "a.test"))
					edit = func(h *farm.HTTP) { logs(h); secured(h) }
				}
				test(t, visitorOf(t, a.Serve(edit, th.service(kept)), way.secure), a, th, way.leave, way.gone || !kept)
			})
		}
	}
}

// waitDeparted waits until no work for the departed client is left, and for its record.
func waitDeparted(t *testing.T, a *l7test.Appliance, r *l7test.Records) {
	t.Helper()
	if l := r.Next(); l.Flags&accesslog.AbortedByClient == 0 || l.Status != 0 {
		t.Errorf("it is recorded with status %d and %q", l.Status, l.Flags)
	}
	idle(t, a)
	if n := a.Segment.SumFarm(1).ClientAborts; n != 1 {
		t.Errorf("%d clients were counted as gone, want 1", n)
	}
}

func TestDepartedClientEndsItsExchange(t *testing.T) {
	t.Parallel()
	everyWayToLeave(t, func(t *testing.T, v *visitor, a *l7test.Appliance, th *thinker, leave func(*visitor), ends bool) {
		r := l7test.RecordsOf(t, a)
		v.say(get("/think"))
		<-th.asked
		leave(v)
		if ends {
			waitDeparted(t, a, r)
			l7test.Eventually(t, "the backend hears of it", func() bool { return th.Open() == 0 })
			return
		}
		th.answer <- struct{}{}
		v.answered()
	})
}

// Clients rarely wait until restimeout. A departure after some waiting counts against the
// backend; an early one does not.
func TestLateDepartureCountsAgainstTheBackend(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		waits time.Duration
		want  uint64
	}{"at once": {0, 0}, "after a while": {1100 * time.Millisecond, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			th, a := newThinker(t), l7test.New(t, 1)
			v := visitorOf(t, a.Serve(nil, th.service(false)), false)
			v.say(get("/think"))
			<-th.asked
			time.Sleep(c.waits)
			v.reset()
			l7test.Eventually(t, "its going is counted", func() bool { return a.Segment.SumFarm(1).ClientAborts == 1 })
			if n := a.Segment.SumBackend(1).Abandoned; n != c.want {
				t.Errorf("%d are counted, want %d", n, c.want)
			}
		})
	}
}

func TestDepartureAfterTheRequestEndsTheExchange(t *testing.T) {
	t.Parallel()
	everyWayToLeave(t, func(t *testing.T, v *visitor, a *l7test.Appliance, th *thinker, leave func(*visitor), ends bool) {
		r := l7test.RecordsOf(t, a)
		v.say(get("/"))
		v.answered()
		_ = r.Next()
		v.say("POST /think HTTP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\n\r\nbo")
		<-th.asked
		v.say("dy")
		l7test.Eventually(t, "the body came", func() bool { return strings.HasSuffix(th.Received(), "body") })
		leave(v)
		if ends {
			waitDeparted(t, a, r)
			return
		}
		th.answer <- struct{}{}
		v.answered()
	})
}

// atOnce makes the loop see the effects of do as one event.
func atOnce(a *l7test.Appliance, do func()) {
	held, stopped := make(chan struct{}), make(chan struct{})
	a.Loops[0].Post(func() { close(stopped); <-held })
	<-stopped
	do()
	close(held)
}

// The end may arrive with the last bytes of the head or body, without another event.
func TestDepartureWithTheRequestEndsTheExchange(t *testing.T) {
	t.Parallel()
	for _, request := range [][2]string{{"", get("/think")}, {"POST /think HTTP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\n\r\nbo", "dy"}} {
		everyWayToLeave(t, func(t *testing.T, v *visitor, a *l7test.Appliance, th *thinker, leave func(*visitor), ends bool) {
			v.say(get("/"))
			v.answered()
			v.say(request[0])
			if request[0] != "" {
				<-th.asked
			}
			atOnce(a, func() {
				v.say(request[1])
				leave(v)
			})
			if ends {
				l7test.Eventually(t, "nobody is there", func() bool { return a.Segment.SumFarm(1).Established == 0 })
				idle(t, a)
				return
			}
			if request[0] == "" {
				<-th.asked
			}
			th.answer <- struct{}{}
			v.answered()
		})
	}
}

// A queued client is not timed out by the check of its connection.
func TestQueuedClientIsNotTimedOut(t *testing.T) {
	t.Parallel()
	th, a := newThinker(t), l7test.New(t, 1)
	s := th.service(true)
	s.Queue, s.QueueTimeout = 10, 60
	addr := a.Serve(nil, s)
	holder, v := visitorOf(t, addr, false), visitorOf(t, addr, false)
	v.say(get("/"))
	v.answered()
	holder.say(get("/think"))
	<-th.asked
	passed := make(chan struct{})
	atOnce(a, func() {
		v.say(get("/"))
		_ = v.tcp.CloseWrite()
	})
	l7test.Queued(t, a, 1)
	a.Loops[0].Post(func() { // after the time of the check
		a.Loops[0].StartTimer(a.Loops[0].NewTimer(func() { close(passed) }), int64(500*time.Millisecond))
	})
	<-passed
	th.answer <- struct{}{}
	holder.answered()
	v.answered()
}

// Bytes read in search of a close_notify are the next request.
func TestPipelinedRequestsSurviveCloseDetection(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		th, a := newThinker(t), l7test.New(t, 1)
		var edit func(*farm.HTTP)
		if secure {
			edit = a.HTTPS(l7test.Certificate(t, "ec.pem", "a.test"))
		}
		v := visitorOf(t, a.Serve(edit, th.service(false)), secure)
		v.say(get("/"))
		v.answered()
		v.say(get("/think"))
		<-th.asked
		enginetest.Advance(a.Loops[0], time.Second) // the loop monitors the client from then on
		for range 3 {
			v.say(get("/next"))
			if secure {
				l7test.Eventually(t, "it has come", func() bool { return pendingAt(t, v.tcp) == 0 })
				a.Turn()
				a.Turn() // and was read
			}
		}
		th.answer <- struct{}{}
		for range 4 {
			v.answered()
		}
	}
}

// pendingAt returns the number of bytes not yet received by the peer's socket.
func pendingAt(t *testing.T, c *net.TCPConn) (n int) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	return n
}

func TestQueuedDepartureFollowsTheServiceSetting(t *testing.T) {
	t.Parallel()
	everyWayToLeave(t, func(t *testing.T, v *visitor, a *l7test.Appliance, th *thinker, leave func(*visitor), ends bool) {
		s := a.Farm.HTTP.Services[0]
		s.Queue, s.QueueTimeout = 10, 60
		addr := a.Serve(nil, s)
		holder := visitorOf(t, addr, v.secure != nil)
		holder.say(get("/think"))
		<-th.asked
		v.say(get("/"))
		l7test.Queued(t, a, 1)
		leave(v)
		if ends {
			l7test.Queued(t, a, 0)
		}
		th.answer <- struct{}{}
		holder.answered()
		if !ends {
			v.answered()
		}
	})
}

// HTTP/2 has no half-close of connections: the end of a connection, like RST_STREAM, ends
// its exchanges.
func TestDepartedStreamsEndTheirExchanges(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(p *l7test.FrameClient){
		"RST_STREAM": func(p *l7test.FrameClient) { _ = p.WriteRSTStream(1, xhttp2.ErrCodeCancel) },
		"FIN":        func(p *l7test.FrameClient) { _ = p.Conn.(*net.TCPConn).CloseWrite() },
		"reset":      func(p *l7test.FrameClient) { _ = p.Conn.(*net.TCPConn).SetLinger(0); _ = p.Conn.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			th, a := newThinker(t), l7test.New(t, 1)
			r := l7test.RecordsOf(t, a)
			p := l7test.DialFrames(t, a.Serve(logs, th.service(true)))
			p.Ask(1, true, "GET", "/think")
			<-th.asked
			leave(p)
			if l := r.Next(); l.Flags&accesslog.AbortedByClient == 0 {
				t.Errorf("it is recorded with %q", l.Flags)
			}
			l7test.Eventually(t, "the backend hears of it", func() bool { return th.Open() == 0 })
		})
	}
}

// An HTTP/1 client that leaves ends its stream at an HTTP/2 backend.
func TestStreamsToBackendsEndWithTheirClients(t *testing.T) {
	t.Parallel()
	ended := make(chan string, 1)
	asked := make(chan bool, 1)
	addr, _ := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
		_, _ = h.Request()
		asked <- true
		ended <- h.Next()
	})
	a := l7test.New(t, 1)
	v := visitorOf(t, a.Serve(nil, l7test.HTTP2Service(false, addr)), false)
	v.say(get("/"))
	<-asked
	_ = v.tcp.CloseWrite()
	if got := <-ended; got != "1 RST_STREAM CANCEL" {
		t.Errorf("the backend got %s, want %s", got, "1 RST_STREAM CANCEL")
	}
}

// A client may also leave during the connect to the backend.
func TestConnectsEndWithTheirClients(t *testing.T) {
	t.Parallel()
	addr := porttest.Full(t).String()
	for _, name := range []string{"reset", "FIN"} {
		a := l7test.New(t, 1)
		v := visitorOf(t, a.Serve(func(h *farm.HTTP) { h.ConnectTimeout = 60 }, l7test.Service("web", addr)), false)
		v.say(get("/"))
		l7test.Eventually(t, "a connect is under way", func() bool { return a.Segment.SumBackend(1).Pending == 1 })
		waysToLeave[name].leave(v)
		idle(t, a)
	}
}

// A half-closed client may still read. If the response ends with the connection, the client
// must not take a part for the whole.
func TestAbortedResponseDoesNotLookComplete(t *testing.T) {
	t.Parallel()
	for says, delimited := range map[string]bool{
		"HTTP/1.1 200 OK\r\n\r\npart":                                        false,
		"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart":                   true,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n": true,
	} {
		b := l7test.NewBackend(t, l7test.Answer(says))
		v := visitorOf(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)), false)
		v.say(get("/"))
		read := make([]byte, 1)
		for got := ""; !strings.HasSuffix(got, "part"); got += string(read) {
			if _, err := io.ReadFull(v.r, read); err != nil {
				t.Fatal(err)
			}
		}
		_ = v.tcp.CloseWrite()
		if _, err := io.ReadAll(v.r); (err == nil) != delimited {
			t.Errorf("%q ends with %v", says, err)
		}
		l7test.Eventually(t, "the backend hears of it", func() bool { return b.Open() == 0 })
	}
}
