package backend_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/l7/l7test"
)

// tunnelHost accepts extended CONNECT and echoes the data in upper case.
func tunnelHost(t *testing.T, heads chan map[string]string) string {
	addr, _ := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
		for {
			got := h.Next()
			id, rest, _ := strings.Cut(got, " ")
			n := uint32(id[len(id)-1] - '0')
			switch {
			case got == "end":
				return
			case strings.HasPrefix(rest, "CONNECT"):
				heads <- h.Heads[n]
				h.Head(n, false, "200", "sec-websocket-protocol", "chat", "content-length", "3") // content-length has no meaning here
				_ = h.WriteData(n, false, []byte("hello"))
			case strings.HasPrefix(rest, "DATA"):
				data, end := strings.CutSuffix(strings.TrimPrefix(rest, "DATA "), " end")
				_ = h.WriteData(n, end, []byte(strings.ToUpper(data)))
			default:
				heads <- map[string]string{"got": got}
			}
		}
	}, xhttp2.Setting{ID: xhttp2.SettingEnableConnectProtocol, Val: 1})
	return addr
}

const upgrade = "GET /chat HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: chat\r\n\r\n"

func TestWebSocketReachesAnHTTP2Backend(t *testing.T) {
	t.Parallel()
	heads := make(chan map[string]string, 10)
	a := l7test.New(t, 1)
	front := a.Serve(nil, l7test.HTTP2Service(false, tunnelHost(t, heads)))
	for range 2 { // once on a new connection and once on an existing one
		c := l7test.Dial(t, front).Send(upgrade)
		res, err := http.ReadResponse(c.Reader(), nil)
		if err != nil || res.StatusCode != 101 || res.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" || res.Header.Get("Upgrade") != "websocket" ||
			res.Header.Get("Sec-WebSocket-Protocol") != "chat" || len(res.TransferEncoding) > 0 {
			t.Fatal(res, err)
		}
		if h := <-heads; h[":method"] != "CONNECT" || h[":protocol"] != "websocket" || h[":path"] != "/chat" || h[":authority"] != "a.test" || h[":scheme"] != "http" ||
			h["sec-websocket-version"] != "13" || h["sec-websocket-key"] != "" || h["upgrade"] != "" {
			t.Errorf("the backend got %v", h)
		}
		c.Send("ping")
		got := make([]byte, 9)
		if _, err := io.ReadFull(c.Reader(), got); err != nil || string(got) != "helloPING" {
			t.Fatalf("%q, %v", got, err)
		}
		c.Send("last")
		_ = c.CloseWrite()
		if rest, err := io.ReadAll(c.Reader()); err != nil || string(rest) != "LAST" {
			t.Errorf("%q, %v", rest, err)
		}
	}
	p := l7test.DialFrames(t, front)
	_ = p.WriteHeaders(xhttp2.HeadersFrameParam{StreamID: 1, EndHeaders: true, BlockFragment: p.Head(":method", "CONNECT", ":scheme", "http", ":authority", "a.test", ":path", "/chat", ":protocol", "websocket", "sec-websocket-protocol", "chat")})
	p.Want("1 HEADERS 200", "1 DATA hello")
	_ = p.WriteData(1, false, []byte("ping"))
	p.Want("1 DATA PING")
	_ = p.WriteData(1, true, []byte("last"))
	p.Want("1 DATA LAST", "1 DATA  end")
}

func TestClientThatLeavesATunnelCancelsItsStream(t *testing.T) {
	t.Parallel()
	heads := make(chan map[string]string, 10)
	a := l7test.New(t, 1)
	front := a.Serve(nil, l7test.HTTP2Service(false, tunnelHost(t, heads)))
	c := l7test.Dial(t, front).Send(upgrade)
	<-heads
	got := make([]byte, 10)
	if _, err := io.ReadFull(c.Reader(), got); err != nil {
		t.Fatal(err)
	}
	_ = c.SetLinger(0)
	_ = c.Close()
	if h := <-heads; h["got"] != "1 RST_STREAM CANCEL" {
		t.Errorf("the backend got %v", h)
	}
}

func TestWebSocketToAnUnsupportingBackendIsRefused(t *testing.T) {
	t.Parallel()
	addr, _ := l7test.NewFrameServer(t, func(h *l7test.FrameServer) { h.Serve() })
	a := l7test.New(t, 1)
	front := a.Serve(nil, l7test.HTTP2Service(false, addr))
	for range 2 {
		c := l7test.Dial(t, front).Send(upgrade)
		if res, err := http.ReadResponse(c.Reader(), nil); err != nil || res.StatusCode != 502 {
			t.Fatal(res, err)
		}
	}
	l7test.Eventually(t, "the reason in the log", func() bool {
		return len(a.Log.Lines("backend takes no WebSocket over HTTP/2")) > 0
	})
	// Other protocols cannot be tunnelled over HTTP/2: the request is sent without Upgrade.
	c := l7test.Dial(t, front).Send("GET /x HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n")
	if res, err := http.ReadResponse(c.Reader(), nil); err != nil || res.StatusCode != 200 {
		t.Error(res, err)
	}
}
