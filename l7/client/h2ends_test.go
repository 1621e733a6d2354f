package client_test

import (
	"io"
	"strings"
	"testing"
	"time"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// scripted is a backend controlled by the request path.
func scripted(c *l7test.Recorder) {
	for {
		head, err := c.Head()
		if err != nil {
			return
		}
		path, _, _ := strings.Cut(head[strings.IndexByte(head, ' ')+1:], " ")
		switch path {
		case "/cut":
			c.Say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart")
			time.Sleep(50 * time.Millisecond)
			return
		case "/cutchunks":
			c.Say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n")
			time.Sleep(50 * time.Millisecond)
			return
		case "/close":
			c.Say("HTTP/1.1 200 OK\r\n\r\npart")
			return
		case "/early":
			c.Say("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
		case "/none":
			c.Say("HTTP/1.1 204 No Content\r\n\r\n")
		case "/same":
			c.Say("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n")
		case "/head":
			c.Say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
		case "/hints":
			c.Say("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		case "/trailers":
			c.Say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: grpc-status\r\n\r\n2\r\nok\r\n0\r\ngrpc-status: 0\r\n\r\n")
		case "/bad":
			c.Say("nonsense\r\n\r\n")
		case "/gone":
			return
		case "/silent":
			time.Sleep(3 * time.Second)
			return
		case "/big":
			c.Say("HTTP/1.1 200 OK\r\nContent-Length: 4194304\r\n\r\n" + strings.Repeat("x", 4<<20))
		case "/slow":
			time.Sleep(300 * time.Millisecond)
			c.Say(ok)
		case "/not":
			c.Say(ok)
		case "/ws":
			c.Say(l7test.AcceptSocket(head) + "hello")
			_, _ = io.Copy(c.TCPConn, c.Unrecorded())
			c.Say("bye")
			return
		case "/wsends":
			c.Say(l7test.AcceptSocket(head) + "hello")
			_ = c.CloseWrite()
			_, _ = io.Copy(io.Discard, struct{ io.Reader }{c})
			return
		case "/wsreset":
			c.Say(l7test.AcceptSocket(head) + "hello")
			_, _ = c.Read(make([]byte, 99))
			_ = c.SetLinger(0)
			return
		default:
			c.Say(ok)
		}
	}
}

// quick sets short timeouts.
func quick(h *farm.HTTP) {
	h.RequestTimeout, h.ResponseTimeout, h.ConnectTimeout, h.ResurrectTime = 1, 1, 1, 1
}

// idle waits until no exchange is counted as in progress.
func idle(t *testing.T, a *l7test.Appliance) {
	t.Helper()
	l7test.Eventually(t, "gauges return to zero", func() bool {
		f, b := a.Segment.SumFarm(1), a.Segment.SumBackend(1)
		return f.Established|f.Pending|b.Established|b.Pending == 0
	})
}

func TestHTTP2StreamsEndLikeTheirResponses(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, scripted)
	a := l7test.New(t, 1)
	addr := a.Serve(quick, l7test.Service("web", b.Addr))
	p := l7test.DialFrames(t, addr)
	id := uint32(1)
	for _, c := range []struct {
		method, path string
		want         []string
	}{
		{"GET", "/", []string{"HEADERS 200", "DATA ok end"}},
		{"GET", "/cut", []string{"HEADERS 200", "DATA part", "RST_STREAM INTERNAL_ERROR"}},
		{"GET", "/cutchunks", []string{"HEADERS 200", "DATA part", "RST_STREAM INTERNAL_ERROR"}},
		{"GET", "/close", []string{"HEADERS 200", "DATA part", "DATA  end"}},
		{"GET", "/none", []string{"HEADERS 204 end"}},
		{"GET", "/same", []string{"HEADERS 304 end"}},
		{"HEAD", "/head", []string{"HEADERS 200 end"}},
		{"GET", "/hints", []string{"HEADERS 103", "HEADERS 200", "DATA ok end"}},
		{"GET", "/trailers", []string{"HEADERS 200", "DATA ok", "TRAILERS grpc-status=0 end"}},
		{"GET", "/bad", []string{"HEADERS 502", "DATA The server behind this address gave no valid answer.\n end"}},
		{"GET", "/gone", []string{"HEADERS 502", "DATA The server behind this address gave no valid answer.\n end"}},
		{"GET", "/silent", []string{"HEADERS 504", "DATA The server behind this address did not answer in time.\n end"}},
		{"HEAD", "/%00", []string{"HEADERS 400 end"}},
	} {
		p.Ask(id, true, c.method, c.path)
		for _, w := range c.want {
			p.Want(itoa(id) + " " + w)
		}
		id += 2
	}
	p.Ask(id, false, "POST", "/early", "content-length", "10000")
	p.Want(itoa(id)+" HEADERS 413", itoa(id)+" DATA no end")
	_ = p.WriteData(id, true, make([]byte, 10000)) // the unwanted rest
	p.Ask(id+2, true, "GET", "/")
	p.Want(itoa(id+2)+" HEADERS 200", itoa(id+2)+" DATA ok end")
	_ = p.Conn.Close()
	idle(t, a)
}

func TestHTTP2ForwardsTunnels(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, scripted)
	a := l7test.New(t, 1)
	p := l7test.DialFrames(t, a.Serve(nil, l7test.Service("web", b.Addr)))
	p.Ask(1, false, "CONNECT", "/ws", ":protocol", "websocket")
	p.Want("1 HEADERS 200", "1 DATA hello")
	_ = p.WriteData(1, false, []byte("one"))
	p.Want("1 DATA one")
	_ = p.WriteData(1, true, []byte("two"))
	p.Want("1 DATA twobye", "1 DATA  end")

	p.Ask(3, false, "CONNECT", "/wsends", ":protocol", "websocket")
	p.Want("3 HEADERS 200", "3 DATA hello", "3 DATA  end")
	_ = p.WriteData(3, false, []byte("still"))
	_ = p.WriteData(3, true, []byte("heard"))
	l7test.Eventually(t, "the backend hears what follows its end", func() bool { return strings.HasSuffix(b.Received(), "stillheard") })

	p.Ask(5, false, "CONNECT", "/wsreset", ":protocol", "websocket")
	p.Want("5 HEADERS 200", "5 DATA hello")
	_ = p.WriteData(5, false, []byte("x"))
	p.Want("5 RST_STREAM CANCEL")

	p.Ask(7, false, "CONNECT", "/not", ":protocol", "websocket")
	p.Want("7 HEADERS 502") // 200 would mean an established tunnel
	p.Next()
	p.Want("7 RST_STREAM NO_ERROR")

	p.Ask(9, false, "CONNECT", "/ws", ":protocol", "websocket")
	p.Want("9 HEADERS 200", "9 DATA hello")
	_ = p.WriteRSTStream(9, xhttp2.ErrCodeCancel)
	l7test.Eventually(t, "the tunnels are over", func() bool { return a.Segment.SumBackend(1).Established == 0 })
	_ = p.Conn.Close()
	idle(t, a)
}

func TestHTTP2StopsInOrder(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, scripted)
	a := l7test.New(t, 1)
	addr := a.Serve(nil, l7test.Service("web", b.Addr))
	p := l7test.DialFrames(t, addr)
	p.Ask(1, true, "GET", "/slow")
	l7test.Eventually(t, "the request is there", func() bool { return strings.Contains(b.Received(), "/slow") })
	a.Publish(farm.Config{})
	p.Want("GOAWAY NO_ERROR")
	p.Ask(3, true, "GET", "/") // was in flight
	p.Want("3 RST_STREAM REFUSED_STREAM", "1 HEADERS 200", "1 DATA ok end")
	_ = p.WritePing(true, [8]byte([]byte("sluice..")))
	p.Want("GOAWAY NO_ERROR", "end")
	idle(t, a)
}

func TestCutHTTP2BackendEndsOnlyItsStreams(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, scripted)
	a := l7test.New(t, 1)
	s := l7test.Service("web", b.Addr)
	p := l7test.DialFrames(t, a.Serve(nil, s), xhttp2.Setting{ID: xhttp2.SettingInitialWindowSize, Val: 4})
	p.Ask(1, true, "GET", "/big")
	p.Want("1 HEADERS 200", "1 DATA xxxx")
	s.Backends[0].Maintenance = farm.MaintenanceCut
	a.Serve(nil, s)
	p.Want("1 RST_STREAM INTERNAL_ERROR")
	p.Ask(3, true, "GET", "/")
	p.Want("3 HEADERS 503")
	_ = p.Conn.Close()
	idle(t, a)
}

// The limits for heads and unwanted bodies apply at any time, not to the whole life of a
// connection.
func TestFinishedStreamsReturnTheirLimits(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, scripted)
	a := l7test.New(t, 1)
	p := l7test.DialFrames(t, a.Serve(nil, l7test.Service("web", b.Addr)))
	id, big := uint32(1), strings.Repeat("x", 12<<10)
	for range 100 { // 1.2 MB of heads
		p.Ask(id, true, "GET", "/", "x-big", big)
		p.Want(itoa(id)+" HEADERS 200", itoa(id)+" DATA ok end")
		id += 2
	}
	for range 200 { // 2 MB of bodies
		p.Ask(id, false, "POST", "/early", "content-length", "10000")
		p.Want(itoa(id)+" HEADERS 413", itoa(id)+" DATA no end")
		_ = p.WriteData(id, true, make([]byte, 10000))
		id += 2
	}
	p.Ask(id, true, "GET", "/")
	p.Want(itoa(id)+" HEADERS 200", itoa(id)+" DATA ok end")
	_ = p.Conn.Close()
	idle(t, a)
}

func TestPinnedConnectionsEndWithTheHTTP2Client(t *testing.T) {
	t.Parallel()
	b := l7test.NewNamed(t, "ok")
	s := l7test.Service("web", b.Addr)
	s.ProxyOut = farm.ProxyOutV1 // an announced connection belongs to this client
	p := l7test.DialFrames(t, l7test.New(t, 1).Serve(nil, s))
	p.Ask(1, true, "GET", "/")
	p.Want("1 HEADERS 200", "1 DATA ok end")
	if b.Open() != 1 {
		t.Errorf("%d connections are kept, want 1", b.Open())
	}
	_ = p.Conn.Close()
	l7test.Eventually(t, "it ends", func() bool { return b.Open() == 0 })
}
