package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// socketHost responds to WebSocket requests with an edited response and then echoes.
func socketHost(t *testing.T, edit func(answer string) string) *l7test.Backend {
	return l7test.NewBackend(t, func(c *l7test.Recorder) {
		head, err := c.Head()
		if err != nil {
			return
		}
		c.Say(edit(l7test.AcceptSocket(head)))
		_, _ = io.Copy(c.TCPConn, struct{ io.Reader }{c})
	})
}

// wrongSwitches are responses that every WebSocket client refuses (RFC 6455 section 4.1).
var wrongSwitches = map[string]struct {
	edit   func(answer string) string
	reason string
}{
	"no accept":     {without("Sec-WebSocket-Accept"), "101 to WebSocket without Sec-WebSocket-Accept"},
	"wrong accept":  {saying("Sec-WebSocket-Accept", l7test.SocketAccept[1:]+"="), "101 to WebSocket with a wrong Sec-WebSocket-Accept"},
	"accept as key": {saying("Sec-WebSocket-Accept", l7test.SocketKey), "101 to WebSocket with a wrong Sec-WebSocket-Accept"},
	"no upgrade":    {without("Upgrade"), "101 without Upgrade"},
	"wrong upgrade": {saying("Upgrade", "tcp"), "101 to another protocol than the request's Upgrade"},
	"no connection": {without("Connection"), "101 without Connection: upgrade"},
	"connection":    {saying("Connection", "keep-alive"), "101 without Connection: upgrade"},
	"subprotocol":   {saying("Sec-WebSocket-Protocol", "chat"), "101 to WebSocket with a Sec-WebSocket-Protocol the client did not offer"},
	"extension":     {saying("Sec-WebSocket-Extensions", "permessage-deflate"), "101 to WebSocket with a Sec-WebSocket-Extensions the client did not offer"},
	"HTTP/1.0":      {func(s string) string { return strings.Replace(s, "HTTP/1.1", "HTTP/1.0", 1) }, "101 without Connection: upgrade"},
}

func without(name string) func(string) string {
	return func(answer string) string {
		i := strings.Index(answer, "\r\n"+name+": ") + 2
		if i < 2 {
			return answer
		}
		return answer[:i] + answer[i+strings.Index(answer[i:], "\n")+1:]
	}
}

func saying(name, value string) func(string) string {
	return func(answer string) string {
		return strings.Replace(without(name)(answer), "\r\n", "\r\n"+name+": "+value+"\r\n", 1)
	}
}

func unchanged(answer string) string { return answer }

func TestWebSocketIsEstablishedOnlyByItsHandshake(t *testing.T) {
	for name, c := range wrongSwitches {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := socketHost(t, c.edit)
			a := l7test.New(t, 1)
			client := l7test.Dial(t, a.Serve(nil, l7test.Service("web", b.Addr))).Send(l7test.AskSocket)
			if res := client.Get(); res.StatusCode != 502 {
				t.Errorf("got %s", res.Status)
			}
			oneLine(t, a, client, "bad-answer", c.reason, "backend="+b.Addr+" status=502")
			l7test.Eventually(t, "the backend's connection is closed", func() bool { return b.Open() == 0 })
		})
	}
	client := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", socketHost(t, unchanged).Addr))).Send(l7test.AskSocket)
	res, err := http.ReadResponse(client.Reader(), nil)
	if err != nil || res.StatusCode != 101 || res.Header.Get("Sec-WebSocket-Accept") != l7test.SocketAccept {
		t.Fatal(res, err)
	}
	pings(t, client)
}

func pings(t *testing.T, client *l7test.Client) {
	t.Helper()
	client.Send("ping")
	got := make([]byte, 4)
	if _, err := io.ReadFull(client.Reader(), got); err != nil || string(got) != "ping" {
		t.Errorf("got %q, %v", got, err)
	}
}

// The key for an HTTP/2 client is ours, and only we can check the response.
func TestStreamIsAWebSocketOnlyByItsHandshake(t *testing.T) {
	for name, c := range wrongSwitches {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := l7test.New(t, 1)
			p := l7test.DialFrames(t, a.Serve(nil, l7test.Service("web", socketHost(t, c.edit).Addr)))
			p.Ask(1, false, "CONNECT", "/ws", ":protocol", "websocket", "sec-websocket-key", l7test.SocketKey)
			p.Want("1 HEADERS 502")
			l7test.Eventually(t, "a line", func() bool { return a.Log.Has(fmt.Sprintf("reason=%q", c.reason)) })
		})
	}
	b := socketHost(t, unchanged)
	p := l7test.DialFrames(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	for id := uint32(1); id <= 3; id += 2 { // each with its own key
		p.Ask(id, false, "CONNECT", "/ws", ":protocol", "WebSocket", "sec-websocket-version", "13")
		p.Want(fmt.Sprint(id, " HEADERS 200"))
		_ = p.WriteData(id, false, []byte("ping"))
		p.Want(fmt.Sprint(id, " DATA ping"))
	}
	keys := regexp.MustCompile("(?m)^sec-websocket-key: (.{24})\r$").FindAllStringSubmatch(b.Received(), -1)
	if len(keys) != 2 || keys[0][1] == keys[1][1] || keys[0][1] == l7test.SocketKey {
		t.Errorf("the backend got the keys %q", keys)
	}
}

// A backend responds to unsupported versions with 426 and the supported ones.
func TestVersionOfWebSocketIsTheBackendsToJudge(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 426 Upgrade Required\r\nSec-WebSocket-Version: 13\r\nContent-Length: 0\r\n\r\n"))
	client := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	res := client.Send(strings.Replace(l7test.AskSocket, "Version: 13", "Version: 25", 1)).Get()
	if res.StatusCode != 426 || res.Header.Get("Sec-WebSocket-Version") != "13" || b.Field("Sec-WebSocket-Version") != "25" {
		t.Errorf("got %s, %v", res.Status, res.Header)
	}
}

func TestWebSocketWithoutAKeyIs400(t *testing.T) {
	t.Parallel()
	b := socketHost(t, unchanged)
	addr := l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr))
	for _, version := range []string{"13", "7"} {
		request := strings.Replace(without("Sec-WebSocket-Key")(l7test.AskSocket), "Version: 13", "Version: "+version, 1)
		if res := l7test.Dial(t, addr).Send(request).Get(); res.StatusCode != 400 {
			t.Errorf("version %s: got %s", version, res.Status)
		}
	}
	if b.Accepted() != 0 {
		t.Error("a backend was contacted")
	}
}

// dockerd imitates the Docker API: net/http reads the body, then the connection is hijacked
// for another protocol.
func dockerd(t *testing.T, body chan<- string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "tcp" {
			http.Error(w, "no upgrade", http.StatusBadRequest)
			return
		}
		text, _ := io.ReadAll(r.Body)
		body <- string(text)
		conn, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
		_, _ = io.Copy(conn, buffered)
		_ = conn.Close()
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestUpgradeOfARequestWithABodyIsForwarded(t *testing.T) {
	const head = "POST /exec/1/start HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Type: application/json\r\n"
	for name, parts := range map[string][]string{
		"with the head":    {head + "Content-Length: 2\r\n\r\n{}"},
		"after the head":   {head + "Content-Length: 2\r\n\r\n", "{", "}"},
		"chunked":          {head + "Transfer-Encoding: chunked\r\n\r\n", "2\r\n{}\r\n", "0\r\n\r\n"},
		"invited":          {head + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n", "{}"},
		"bytes follow":     {head + "Content-Length: 2\r\n\r\n{}early"},
		"bytes are behind": {head + "Transfer-Encoding: chunked\r\n\r\n", "2\r\n{}\r\n0\r\n\r\nearly"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bodies := make(chan string, 1)
			a := l7test.New(t, 1)
			client := l7test.Dial(t, a.Serve(nil, l7test.Service("web", dockerd(t, bodies))))
			for _, part := range parts {
				client.Send(part)
				a.Turn()
			}
			res := client.Response("POST")
			for res.StatusCode == 100 {
				res = client.Response("POST")
			}
			if res.StatusCode != 101 || res.Header.Get("Upgrade") != "tcp" {
				t.Fatal(res.Status)
			}
			if got := <-bodies; got != "{}" {
				t.Errorf("the body was %q", got)
			}
			client.Send("ping")
			_ = client.CloseWrite()
			want := "ping"
			if strings.HasSuffix(parts[len(parts)-1], "early") {
				want = "earlyping"
			}
			if got := client.Rest(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// A backend may switch before it has read the body, whose rest comes first.
func TestBodyGoesOnWhenTheBackendSwitchesBeforeItsEnd(t *testing.T) {
	t.Parallel()
	const head = "POST / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: x\r\n"
	for name, c := range map[string]struct{ head, rest, got string }{
		"counted": {head + "Content-Length: 8\r\n\r\nbo", "dybodytunnel", "bodybodytunnel"},
		"chunked": {head + "Transfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n", "6\r\ndybody\r\n0\r\n\r\ntunnel", "2\r\nbo\r\n6\r\ndybody\r\n0\r\n\r\ntunnel"},
		"broken":  {head + "Transfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n", "nonsense\r\n", "2\r\nbo\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bodies := make(chan string, 1)
			b := l7test.NewBackend(t, func(r *l7test.Recorder) {
				_, _ = r.Head()
				r.Say(switches)
				body, _ := io.ReadAll(struct{ io.Reader }{r})
				bodies <- string(body)
			})
			a := l7test.New(t, 1)
			client := l7test.Dial(t, a.Serve(func(h *farm.HTTP) { h.ResponseTimeout = 1 }, l7test.Service("web", b.Addr))).Send(c.head)
			if line := status(t, client); !strings.Contains(line, "101") {
				t.Fatal(line)
			}
			if name == "counted" {
				time.Sleep(1200 * time.Millisecond) // no response timeout applies any more
			}
			client.Send(c.rest)
			_ = client.CloseWrite()
			if got := <-bodies; got != c.got {
				t.Errorf("the backend got %q, want %q", got, c.got)
			}
		})
	}
}

// A request with a body and a refused upgrade is an ordinary request.
func TestUpgradeWithABodyMayBeRefused(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			if _, err := c.Head(); err != nil {
				return
			}
			_, _ = io.ReadFull(c, make([]byte, 2))
			c.Say(ok)
		}
	})
	client := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	for range 3 {
		res := client.Send("POST / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 2\r\n\r\n{}").Get()
		if res.StatusCode != 200 || res.Text != "ok" {
			t.Errorf("got %s %q", res.Status, res.Text)
		}
	}
	if n := b.Accepted(); n != 1 {
		t.Errorf("%d connections to the backend", n)
	}
}

// Offers of the client may be selected. Rules may remove a selection that another rule
// caused.
func TestWebSocketSelectsWhatWasOffered(t *testing.T) {
	t.Parallel()
	b := socketHost(t, func(s string) string {
		return saying("Sec-WebSocket-Protocol", "v2")(saying("Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits=9")(s))
	})
	a := l7test.New(t, 1)
	addr := a.Serve(nil, l7test.Service("web", b.Addr))
	offering := strings.Replace(l7test.AskSocket, "\r\n", "\r\nSec-WebSocket-Protocol: v1 , v2\r\nSec-WebSocket-Extensions: x\r\nSec-WebSocket-Extensions: permessage-deflate;client_max_window_bits\r\n", 1)
	client := l7test.Dial(t, addr).Send(offering)
	res, err := http.ReadResponse(client.Reader(), nil)
	if err != nil || res.StatusCode != 101 || res.Header.Get("Sec-WebSocket-Protocol") != "v2" {
		t.Fatal(res, err)
	}
	pings(t, client)
	p := l7test.DialFrames(t, addr)
	p.Ask(1, false, "CONNECT", "/ws", ":protocol", "websocket", "sec-websocket-protocol", "v2", "sec-websocket-extensions", "permessage-deflate")
	p.Want("1 HEADERS 200")
	p.Ask(3, false, "CONNECT", "/ws", ":protocol", "websocket", "sec-websocket-protocol", "V2", "sec-websocket-extensions", "permessage-deflate")
	p.Want("3 HEADERS 502")
	a.Serve(func(h *farm.HTTP) {
		h.RemoveResponse = l7test.Remove("^Sec-WebSocket-(Protocol|Extensions):")
	}, l7test.Service("web", b.Addr))
	if res, err = http.ReadResponse(l7test.Dial(t, addr).Send(l7test.AskSocket).Reader(), nil); err != nil || res.StatusCode != 101 || res.Header.Get("Sec-WebSocket-Protocol") != "" {
		t.Error(res, err)
	}
}
