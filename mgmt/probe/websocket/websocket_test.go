package websocket_test

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
	"github.com/sluicelb/sluice/mgmt/probe/websocket"
)

// upgraded starts a server that accepts the upgrade and sends frames after it has received
// one. %s in head is the value of Sec-WebSocket-Accept.
func upgraded(t *testing.T, head, frames string) (probe.Target, chan *http.Request) {
	t.Helper()
	asked := make(chan *http.Request, 10)
	return probetest.Server(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		asked <- r
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		fmt.Fprint(c, strings.Replace(head, "%s", base64.StdEncoding.EncodeToString(sum[:]), 1))
		if frames != "" {
			_, _ = in.Peek(6 + len("sluice"))
			_, _ = io.WriteString(c, frames)
		}
		_, _ = io.Copy(io.Discard, in)
	}), asked
}

const taken = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n"

func TestUpgradeResponsesAreJudged(t *testing.T) {
	for _, c := range []struct{ head, frames, args, reason string }{
		{taken, "", "", ""},
		{"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "", "", "answered 404 Not Found, wanted 101"},
		{strings.Replace(taken, "%s", "c2x1aWNl", 1), "", "", "without the proof"},
		{strings.Replace(taken, "websocket", "h2c", 1), "", "", "for something else"},
		{taken, "\x8a\x06sluice", "--ping", ""},
		{taken, "\x81\x05hello\x82\x7e\x00\x82" + strings.Repeat("x", 130) + "\x8a\x05other\x8a\x06sluice", "--ping", ""},
		{taken, "\x88\x02\x03\xe9", "--ping", "the server closed the WebSocket"},
		{taken, "\x81\x85hello", "--ping", "a masked frame"},
		{taken, "\x82\x7f\x00\x00\x00\xff\x00\x00\x00\x00", "--ping", "sends more than a check takes"},
		{"garbage\r\n\r\n", "", "", "malformed HTTP"},
	} {
		to, _ := upgraded(t, c.head, c.frames)
		got := probetest.Check(t, "check_websocket", websocket.Check, to, append([]string{"-p", "PORT"}, strings.Fields(c.args)...)...)
		if c.reason == "" {
			got.Healthy(t)
		} else {
			got.Down(t, c.reason)
		}
	}
}

func TestRequestFollowsTheCommand(t *testing.T) {
	to, asked := upgraded(t, taken, "")
	to.Name = "chat.example"
	probetest.Check(t, "check_websocket", websocket.Check, to, "-p", "PORT", "-u", "/a?b", "--origin", "https://chat.example", "--protocol", "v1").Healthy(t)
	r := <-asked
	if r.RequestURI != "/a?b" || r.Host != fmt.Sprintf("chat.example:%d", to.Port) || r.Header.Get("Origin") != "https://chat.example" || r.Header.Get("Sec-WebSocket-Protocol") != "v1" || r.Header.Get("Sec-WebSocket-Version") != "13" {
		t.Errorf("the request is %+v", r)
	}
	probetest.Check(t, "check_websocket", websocket.Check, to, "-p", "PORT", "--vhost", "other.example").Healthy(t)
	if r := <-asked; r.Host != "other.example" {
		t.Errorf("the host is %s, want %s", r.Host, "other.example")
	}
}
