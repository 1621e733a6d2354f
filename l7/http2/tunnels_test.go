package http2_test

import (
	"strings"
	"testing"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/l7/http2"
)

const upgrade = "GET /chat?x HTTP/1.1\r\nHost: a.test:81\r\nX-A: 1\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nX-B: 2\r\n\r\n"

func TestTunnelsForwardBytesBothWays(t *testing.T) {
	client, server, exchange := joined(t)
	if !client.Tunnels() {
		t.Fatal("the settings of the backend do not allow tunnels")
	}
	for _, no := range []string{"", "GET", "GET /", "\r\n"} {
		if client.OpenTunnel(nil, []byte(no)) != nil {
			t.Errorf("%q became a tunnel", no)
		}
	}
	client.pipe.H2 = client.OpenTunnel("mine", []byte(upgrade))
	if s := client.pipe.H2; s == nil || s.Owner != "mine" || s.ID() != 1 || !s.Tunnel() {
		t.Fatalf("opened %+v", s)
	}
	exchange()
	key, yes := http2.WebSocket([]byte(server.head))
	if !strings.HasPrefix(server.head, "GET /chat?x HTTP/1.1\r\n") || !yes || len(key) != 24 || strings.Contains(server.head, "dGhl") ||
		!strings.Contains(server.head, "a.test:81\r\n") || !strings.Contains(server.head, "x-a: 1\r\n") || !strings.Contains(server.head, "x-b: 2\r\n") {
		t.Errorf("the server got %q", server.head)
	}
	client.pipe.Bare, server.pipe.Bare = true, true
	server.pipe.H2.Respond([]byte("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"), false)
	server.pipe.Send(server.buffers, []byte("hello"), false, nil)
	client.pipe.Send(client.buffers, []byte("you"), false, nil)
	exchange()
	if got, heard := client.read(100), server.read(100); got != "hello" || heard != "you" || !strings.HasPrefix(client.head, "HTTP/1.1 200 ") {
		t.Errorf("head %q, read %q, sent %q", client.head, got, heard)
	}
	if s := client.OpenTunnel(nil, []byte(upgrade)); s == nil || s.ID() != 3 {
		t.Errorf("the next one is %+v", s)
	}
	s := newSession(t, nil).toClient()
	if s.conn.Tunnels() || s.conn.OpenTunnel(nil, []byte(upgrade)) != nil {
		t.Error("a tunnel is opened to a backend without support")
	}
	_ = s.WriteSettings(xhttp2.Setting{ID: xhttp2.SettingEnableConnectProtocol, Val: 1}, xhttp2.Setting{ID: xhttp2.SettingMaxConcurrentStreams, Val: 1})
	if _, err := s.flush(); err != nil || s.conn.OpenTunnel(nil, []byte(upgrade)) == nil || s.conn.OpenTunnel(nil, []byte(upgrade)) != nil {
		t.Errorf("%v: exactly one tunnel must be possible", err)
	}
}

func TestWebSocketFollowsTheUpgradeField(t *testing.T) {
	for head, want := range map[string]struct {
		key string
		yes bool
	}{
		upgrade: {"dGhlIHNhbXBsZSBub25jZQ==", true},
		"GET / HTTP/1.1\r\nupgrade:websocket\r\n\r\n":                             {"", true},
		"GET / HTTP/1.1\r\nUpgrade: h2c\r\nSec-WebSocket-Key: x\r\n\r\n":          {"x", false},
		"GET / HTTP/1.1\r\nX-Upgrade: websocket\r\n\r\n":                          {"", false},
		"GET / HTTP/1.1\r\nUpgrade: websockets\r\n\r\n":                           {"", false},
		"GET / HTTP/1.1\r\n\r\n":                                                  {"", false},
		"GET / HTTP/1.1\r\nsec-websocket-KEY: \ty \r\nUPGRADE: websocket\r\n\r\n": {"y", true},
	} {
		if key, yes := http2.WebSocket([]byte(head)); string(key) != want.key || yes != want.yes {
			t.Errorf("%q: key %q, %v", head, key, yes)
		}
	}
}

// Header blocks longer than a frame are sent in several.
func TestHeadsOfAnyLengthArriveWhole(t *testing.T) {
	const frame = 16 << 10
	for _, around := range []int{frame, 2 * frame, 3 * frame} {
		for length := around - 64; length < around+4; length++ {
			client, server, exchange := joined(t)
			var value strings.Builder
			for i := 0; value.Len() < length; i++ {
				value.WriteByte("abcdefghijklmnopqrstuvwxyz0123456789-"[i%37])
			}
			line := "x-long: " + value.String() + "\r\n"
			client.pipe.H2 = client.Open(nil, []byte("GET / HTTP/1.1\r\nHost: a.test\r\n"+line+"\r\n"), true)
			exchange()
			if !strings.Contains(server.head, line) || !server.pipe.Ended {
				t.Fatalf("%d bytes: a head of %d bytes came, ended %t", length, len(server.head), server.pipe.Ended)
			}
			server.pipe.H2.Respond([]byte("HTTP/1.1 200 OK\r\n"+line+"\r\n"), true)
			exchange()
			if !strings.Contains(client.head, line) || !client.pipe.Ended {
				t.Fatalf("%d bytes: an answer of %d bytes came, ended %t", length, len(client.head), client.pipe.Ended)
			}
		}
	}
	// As few frames as possible, all full except the last, which alone has END_HEADERS (4).
	s := newSession(t, nil).toClient()
	s.conn.Written()
	s.request(head("GET", "/", "X-Long: "+strings.Repeat("v", 2*frame)), true)
	if frames := strings.Join(s.out(), ", "); frames != "HEADERS 1 true, CONTINUATION 1 0, CONTINUATION 1 4" {
		t.Errorf("the frames are %s, want %s", frames, "HEADERS 1 true, CONTINUATION 1 0, CONTINUATION 1 4")
	}
}

func TestCodesAndErrorsHaveTexts(t *testing.T) {
	for code, want := range map[http2.Code]string{http2.CodeNo: "NO_ERROR", http2.CodeCancel: "CANCEL", http2.CodeHTTP11Required: "HTTP_1_1_REQUIRED", http2.CodeHTTP11Required + 1: "unknown error code"} {
		if got := code.String(); got != want {
			t.Errorf("code %d is %s, want %s", code, got, want)
		}
	}
	if got := http2.ErrPreface.Error(); got != "http/2: no HTTP/2 preface" {
		t.Errorf("got %q, want %q", got, "http/2: no HTTP/2 preface")
	}
	seen := map[string]bool{}
	for i, err := range http2.Errors() {
		if seen[err.Reason] || err.Code == http2.CodeNo {
			t.Errorf("error %d, %v with %v, is a duplicate or has no code", i, err, err.Code)
		}
		seen[err.Reason] = true
	}
}

func TestPingDetectsALiveBackend(t *testing.T) {
	s := newSession(t, nil).toClient()
	if !s.conn.HasSettings() || s.conn.Allowed() != s.conn.Available() || s.conn.Err() != nil {
		t.Errorf("settings %v, %d allowed, %d available, %v", s.conn.HasSettings(), s.conn.Allowed(), s.conn.Available(), s.conn.Err())
	}
	s.conn.Ping()
	if frames := s.out(); len(frames) != 1 || frames[0] != "PING false sluice.." {
		t.Errorf("frames %q", frames)
	}
	before := s.conn.Frames()
	_ = s.WritePing(true, [8]byte([]byte("sluice..")))
	if frames, err := s.flush(); err != nil || len(frames) != 0 || s.conn.Frames() != before+1 {
		t.Errorf("%v, %q, %d frames", err, frames, s.conn.Frames()-before)
	}
	s.conn.Shutdown() // towards a backend it is final at once
	if frames := s.out(); len(frames) != 1 || frames[0] != "GOAWAY 0 NO_ERROR" || s.conn.Available() != 0 || !s.conn.Finished() {
		t.Errorf("it left by %q, %d available", frames, s.conn.Available())
	}
	q := newSession(t, nil).toClient()
	_ = q.WriteRawFrame(5, 4, 1, zeros(4)) // PUSH_PROMISE ends the connection
	if _, err := q.flush(); err != http2.ErrPush {
		t.Fatal(err)
	}
	if q.conn.Ping(); len(q.out()) != 0 || q.conn.Available() != 0 {
		t.Error("a connection that is over asks for a sign of life")
	}
}
