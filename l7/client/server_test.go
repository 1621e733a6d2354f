package client_test

import (
	xhttp2 "golang.org/x/net/http2"

	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/l7test"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/table"
)

// Input that never becomes a request gets a response and is counted, recorded and logged,
// once each.
func TestInvalidInputIsCountedOnce(t *testing.T) {
	t.Parallel()
	limited := func(h *farm.HTTP) { h.MaxHead, h.Error414 = 100, "too long\n" }
	for name, c := range map[string]struct {
		edit   func(*farm.HTTP)
		sends  string
		ended  bool // by the client
		status int
		bad    uint64
		line   string
	}{
		"no HTTP":             {nil, "GET nonsense HTTP/1.1\r\nHost: a.test\r\n\r\n", false, 400, 1, "class=bad-target"},
		"no host":             {nil, "GET / HTTP/1.1\r\n\r\n", false, 400, 1, "class=bad-host"},
		"a long line":         {limited, "GET /" + strings.Repeat("x", 200), false, 414, 1, "class=head-too-long"},
		"a long head":         {limited, "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 200), false, 431, 1, "class=head-too-long"},
		"half a head":         {nil, "GET / HTTP/1.1\r\n", true, 0, 1, `reason="connection ended within the head"`},
		"nothing":             {nil, "", true, 0, 0, ""},
		"a bad header":        {wantsHeader, "PROXY TCP9 x\r\n", false, 0, 1, "class=bad-proxy-header"},
		"half a header":       {wantsHeader, "PROXY TCP4", true, 0, 1, "class=bad-proxy-header"},
		"no header":           {wantsHeader, "", true, 0, 0, ""},
		"nothing of a header": {wantsHeader, get("/"), false, 0, 1, "class=bad-proxy-header"},
	} {
		h := newHarness(t, c.edit)
		cl := h.dial()
		if cl.Send(c.sends); c.ended {
			_ = cl.CloseWrite()
		}
		rest, _ := ends(cl)
		if (c.status == 0) != (rest == "") || c.status > 0 && !strings.HasPrefix(rest, fmt.Sprint("HTTP/1.1 ", c.status, " ")) {
			t.Errorf("%s: answered %q", name, rest)
		}
		h.counted(0, 0)
		f := h.Segment.SumFarm(1)
		if f.BadRequests+f.RefusedHead != c.bad || f.Responses[3] != map[bool]uint64{true: 1}[c.status > 0] {
			t.Errorf("%s: %d bad requests and %d answers are counted", name, f.BadRequests, f.Responses[3])
		}
		select {
		case a := <-h.said:
			if a.status != c.status || a.bytes != len(rest) || !strings.Contains(c.line, "class="+rejected.Names[a.class]) {
				t.Errorf("%s: recorded as %+v, %d bytes came", name, a, len(rest))
			}
		default:
			if c.status > 0 {
				t.Errorf("%s: its answer is not recorded", name)
			}
		}
		if c.line == "" {
			continue
		}
		l7test.Eventually(t, name+" leaves a line", func() bool { return len(h.Log.Lines(c.line)) == 1 })
		if line := h.Log.Lines(c.line)[0]; !strings.Contains(line, "farm=test") || !strings.Contains(line, "client=127.0.0.1:") || c.status > 0 && !strings.Contains(line, fmt.Sprint("status=", c.status)) {
			t.Errorf("%s: the line is %s", name, line)
		}
	}
}

// HTTP/2 refusals before an exchange are counted as for HTTP/1.
func TestInvalidStreamsAreCountedOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		send func(p *l7test.FrameClient)
		want []string
		bad  uint64 // malformed
		long uint64
		line string
	}{
		"malformed":   {func(p *l7test.FrameClient) { p.Ask(1, true, "GET", "/", "connection", "x") }, []string{"1 RST_STREAM PROTOCOL_ERROR"}, 1, 0, "class=bad-request"},
		"a bad path":  {func(p *l7test.FrameClient) { p.Ask(1, true, "GET", "/%00") }, []string{"1 HEADERS 400", "1 DATA The request is not valid HTTP.\n end"}, 1, 0, "class=bad-target status=400"},
		"a long head": {func(p *l7test.FrameClient) { p.Ask(1, true, "GET", "/", "x", strings.Repeat("x", 70<<10)) }, []string{"GOAWAY ENHANCE_YOUR_CALM"}, 0, 1, "class=head-too-long"},
		"no frame":    {func(p *l7test.FrameClient) { _ = p.WriteRawFrame(xhttp2.FrameHeaders, 0, 0, nil) }, []string{"GOAWAY PROTOCOL_ERROR", "end"}, 1, 0, "class=bad-request"},
	} {
		h := newHarness(t, nil)
		p := h.frames()
		c.send(p)
		p.Want(c.want...)
		if f := h.Segment.SumFarm(1); f.BadRequests != c.bad || f.RefusedHead != c.long || f.Responses[3] != map[bool]uint64{true: 1}[len(c.want) == 2 && c.want[1] != "end"] {
			t.Errorf("%s: %d bad requests, %d long heads, %d answers are counted", name, f.BadRequests, f.RefusedHead, f.Responses[3])
		}
		l7test.Eventually(t, name+" leaves a line", func() bool {
			class, status, _ := strings.Cut(c.line, " ")
			lines := h.Log.Lines(class)
			return len(h.Log.Lines("farm=test")) == 1 && len(lines) == 1 && strings.HasSuffix(lines[0], status)
		})
		_ = p.Conn.Close()
		h.counted(0, 0)
	}
}

// A kept backend connection is closed when the backend is cut or deleted.
func TestKeptConnectionsEndWithTheirBackend(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} {
		b := l7test.NewNamed(t, "ok")
		a := l7test.New(t, 1)
		s := l7test.Service("web", b.Addr)
		s.ProxyOut = farm.ProxyOutV1 // an announced connection belongs to its client
		addr := a.Serve(nil, s)
		c, p := l7test.Dial(t, addr).Send(get("/")), l7test.DialFrames(t, addr)
		c.Get()
		p.Ask(1, true, "GET", "/")
		p.Want("1 HEADERS 200", "1 DATA ok end")
		s.Backends[0].Maintenance = farm.MaintenanceDrain
		a.Serve(nil, s)
		a.Turn()
		if n := b.Open(); n != 2 {
			t.Errorf("%d connections are kept, want 2", n)
		}
		if s.Backends[0].Maintenance = farm.MaintenanceCut; gone {
			s.Backends = nil
		}
		a.Serve(nil, s)
		l7test.Eventually(t, "they end", func() bool { return b.Open() == 0 })
		if n := a.Segment.SumFarm(1).Established; n != 2 {
			t.Errorf("%d clients, want 2", n)
		}
	}
}

func TestPROXYHeaderSetsTheClientAddress(t *testing.T) {
	t.Parallel()
	secured := l7test.Certificate(t, "ec.pem", "a.test")
	for _, edit := range []func(*farm.HTTP){wantsHeader, func(h *farm.HTTP) {
		wantsHeader(h)
		h.TLS = &farm.TLS{Certificates: []string{secured.Name}}
	}} {
		h := newHarness(t, edit, secured)
		c := h.dial()
		for _, part := range []string{"PROXY TCP4 ", "192.0.2.7 192.0.2.2 77 80\r", "\n"} {
			c.Send(part)
			h.taken(c)
		}
		v := visitorOn(t, c.TCPConn, h.farm.HTTP.TLS != nil)
		v.say(get("/"))
		request := h.next()
		request.do(func(c client.Client) {
			scheme := map[bool]string{false: "http", true: "https"}[v.secure != nil]
			if p := c.From(); p.Conn.Peer().String() != "192.0.2.7:77" || string(p.Scheme()) != scheme || p.Farm().ID != 1 || len(p.Certificate()) != 0 {
				t.Errorf("it is of %s by %s", p.Conn.Peer(), p.Scheme())
			}
		})
		request.finish(true, true)
		v.answered()
	}
	// The farm may be deleted between the header and the handshake.
	h := newHarness(t, wantsHeader)
	c := h.dial().Send("PROXY")
	h.counted(1, 1)
	h.table.Store(new(table.Table))
	c.Send(" UNKNOWN\r\n")
	h.counted(0, 0)
}

// A connection of a deleted farm ends once it has no exchange.
func TestConnectionsOfARemovedFarmEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sends  string
		answer func(c client.Client) // responds to the request, unless it stays in progress
		waits  bool                  // until the client has read its response
	}{
		"between requests": {get("/"), func(c client.Client) { _ = c.WriteBody([]byte("ok"), true, nil); c.Finish(true, true) }, false},
		"within a head":    {"GET / HT", nil, false},
		"before an answer has left": {get("/"), func(c client.Client) {
			_ = c.WriteBody(make([]byte, large), true, nil)
			c.Finish(true, true)
		}, true},
	} {
		h := newHarness(t, nil)
		cl := h.dial().Send(c.sends)
		if c.answer != nil {
			h.next().do(func(cl client.Client) { cl.Serve(nil); c.answer(cl) })
		}
		h.taken(cl)
		if h.busy() != 1 {
			t.Errorf("%s: %d are busy", name, h.busy())
		}
		h.publish(nil) // a table with the farm changes nothing
		h.on(func() { h.server.Reconcile(nil) })
		h.taken(cl)
		if n := h.Segment.SumFarm(1).Established; n != 1 {
			t.Errorf("%s: it ended with a table that has the farm", name)
		}
		h.stop(false)
		if want := map[bool]int{true: 1}[c.waits]; h.busy() != want {
			t.Errorf("%s: %d are busy, want %d", name, h.busy(), want)
		}
		rest, reset := ends(cl)
		if c.waits && (len(rest) != large || reset) {
			t.Errorf("%s: %d bytes came", name, len(rest))
		}
		h.counted(0, 0)
	}
}

// busy returns the number of connections in progress.
func (h *harness) busy() (n int) {
	h.on(func() { n = h.server.Busy() })
	return n
}

func TestExchangesOfARemovedFarmHaveItsGrace(t *testing.T) {
	t.Parallel()
	for _, over := range []bool{false, true} {
		h := newHarness(t, nil)
		c, p := h.dial().Send(get("/")), h.frames()
		first := h.next()
		p.Ask(1, true, "GET", "/")
		second := h.next()
		seen := 0
		h.on(func() { h.server.Exchanges(func(client.Exchange) { seen++ }) })
		if seen != 2 || h.busy() != 2 {
			t.Errorf("%d exchanges, %d connections, want 2", seen, h.busy())
		}
		for _, v := range []*visit{first, second} {
			v.want("proceed")
		}
		h.stop(over)
		first.want("cut off")
		second.want("cut off")
		if !over {
			first.quiet()
			p.Want("GOAWAY NO_ERROR")
			p.Ask(3, true, "GET", "/")
			p.Want("3 RST_STREAM REFUSED_STREAM")
			h.counted(2, 0)
			first.finish(true, true)
			second.finish(true, true)
			if rest, reset := ends(c); !strings.HasSuffix(rest, "ok") || reset {
				t.Errorf("got %q", rest)
			}
			p.Want("1 HEADERS 200", "1 DATA ok end")
			_ = p.WritePing(true, [8]byte([]byte("sluice..")))
		} else {
			first.want("abort")
			second.want("gone")
		}
		p.Ended()
		h.counted(0, 0)
	}
}

func TestListenersFollowTheConfiguration(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	var copied *os.File
	h.on(func() {
		var err error
		if copied, err = h.server.Socket(h.port); err != nil {
			t.Error(err)
		}
	})
	ln, err := net.FileListener(copied)
	if err != nil || ln.Addr().String() != h.farm.AddrPort().String() {
		t.Fatalf("%v, %v", ln, err)
	}
	_ = copied.Close()
	_ = ln.Close()
	h.on(func() {
		h.server.Unlisten(h.port)
		h.server.Unlisten(h.port)
		if f, err := h.server.Socket(h.port); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v, %v", f, err)
		}
		if err := h.server.Listen(h.port, os.Stdin); err == nil {
			t.Error("Listen accepts a file that is not a socket")
		}
	})
	for _, files := range h.Files {
		_ = files[0].Close()
	}
	if c, err := net.Dial("tcp", h.farm.AddrPort().String()); err == nil {
		_ = c.Close()
		t.Error("the port is open")
	}
}

// A client of a port whose farm was just deleted is refused and takes no slot.
func TestClientsOfADeletedFarmAreRefused(t *testing.T) {
	t.Parallel()
	h := newHarness(t, bounded(1, farm.OverflowRefuse))
	served := h.table.Load()
	h.table.Store(new(table.Table))
	c := h.dial()
	_, _ = io.WriteString(c.TCPConn, get("/"))
	if rest, _ := ends(c); rest != "" {
		t.Errorf("got %q, want \"\"", rest)
	}
	// Deleted between two requests, or within a head.
	h.table.Store(served)
	for _, first := range []string{get("/"), "GET / HT"} {
		c = h.dial().Send(first)
		h.counted(1, map[bool]uint64{false: 1}[first == get("/")])
		if first == get("/") {
			v := h.next()
			h.table.Store(new(table.Table))
			v.finish(true, true)
		} else {
			h.taken(c)
			h.table.Store(new(table.Table))
			c.Send("TP/1.1\r\nHost: a.test\r\n\r\n")
		}
		if rest, _ := ends(c); strings.TrimSuffix(rest, "ok") == rest && rest != "" {
			t.Errorf("got %q", rest)
		}
		h.counted(0, 0)
		h.table.Store(served)
	}
	h.dial().Send(get("/"))
	h.next()
	if n := len(h.begun); n != 0 {
		t.Errorf("%d requests were started without a client", n)
	}
}

// A client without a slot is refused at once.
func TestRefusedClientsAreCounted(t *testing.T) {
	t.Parallel()
	secured := l7test.Certificate(t, "ec.pem", "a.test")
	for _, secure := range []bool{false, true} {
		h := newHarness(t, bounded(1, farm.OverflowRefuse))
		h.dial().Send(get("/"))
		in := h.next()
		if secure {
			h.publish(func(f *farm.HTTP) { f.TLS = &farm.TLS{Certificates: []string{secured.Name}} }, secured)
		}
		for _, sends := range []string{get("/"), post("/", "1000000", strings.Repeat("x", 200<<10))} {
			c := h.dial()
			_, _ = io.WriteString(c.TCPConn, sends)
			rest, reset := ends(c)
			if secure && (rest != "" || !reset) || !secure && (!strings.HasPrefix(rest, "HTTP/1.1 503 ") || reset) {
				t.Errorf("secure %t: it gets %q, a reset %t", secure, rest, reset)
			}
		}
		f := h.Segment.SumFarm(1)
		if f.Connections != 3 || f.Established != 1 || f.Responses[4] != 2 || (f.BytesOut == 0) != secure {
			t.Errorf("secure %t: counted %d connections, %d answers, %d bytes", secure, f.Connections, f.Responses[4], f.BytesOut)
		}
		in.do(func(c client.Client) { c.Serve(nil); c.Abort(false) })
		h.counted(0, 0)
	}
}

// Plain HTTP on a TLS port gets a redirect or a text.
func TestPlainHTTPOnATLSPortGetsAResponse(t *testing.T) {
	t.Parallel()
	secured := l7test.Certificate(t, "ec.pem", "a.test")
	h := newHarness(t, func(f *farm.HTTP) {
		f.TLS = &farm.TLS{Certificates: []string{secured.Name}, NoSSLRedirect: "https://a.test/", NoSSLCode: 307}
	}, secured)
	c := h.dial().Send(get("/"))
	rest, reset := ends(c)
	if !strings.HasPrefix(rest, "HTTP/1.1 307 ") || reset {
		t.Errorf("got %q", rest)
	}
	if a := <-h.said; a.status != 307 || a.bytes != len(rest) || a.class != rejected.BadRequest {
		t.Errorf("recorded as %+v", a)
	}
	l7test.Eventually(t, "a line is left", func() bool { return len(h.Log.Lines("plain HTTP on a port with TLS")) == 1 })
	h.counted(0, 0)
	if n := h.Segment.SumFarm(1).BadRequests; n != 1 {
		t.Errorf("%d bad requests are counted", n)
	}
	// A failed or incomplete handshake leaves no connection behind.
	for _, sends := range []string{"\x16\x03\x01\x00\x05hello", "\x16\x03"} {
		c := h.dial().Send(sends)
		h.taken(c)
		if len(sends) < 5 {
			h.counted(1, 1)
			_ = c.CloseWrite()
		}
		_, _ = ends(c)
		h.counted(0, 0)
	}
	// The client that left in the middle is not worth a line.
	l7test.Eventually(t, "a line is left", func() bool { return len(h.Log.Lines("class=client-handshake")) == 1 })
	if n := h.Segment.SumRejections(1)[rejected.ClientHandshake]; n != 1 {
		t.Errorf("%d failed handshakes are counted", n)
	}
	// After a successful one the first request has its whole timeout.
	v := visitorOn(t, h.dial().TCPConn, true)
	if err := v.secure.Handshake(); err != nil {
		t.Fatal(err)
	}
	h.counted(1, 1)
	h.skip(timeout - time.Second)
	h.counted(1, 1)
	h.skip(2 * time.Second)
	h.counted(0, 0)
}

// A client that does not read the last response of a deleted farm is closed after half a
// minute.
func TestResponsesOfARemovedFarmEndSoon(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	c := h.dial().Send(get("/"))
	h.next().do(func(c client.Client) {
		c.Serve(nil)
		_ = c.WriteBody(make([]byte, large), true, nil)
		c.Finish(true, true)
	})
	h.taken(c)
	h.stop(false)
	took := 0
	for ; h.Segment.SumFarm(1).Established == 1 && took < 60; took++ {
		h.skip(time.Second)
	}
	if took < 20 || took > 32 {
		t.Errorf("it is waited for during %d s", took)
	}
}
