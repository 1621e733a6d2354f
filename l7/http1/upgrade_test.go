package http1_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
)

const socketKey = "dGhlIHNhbXBsZSBub25jZQ=="

func TestWebSocketHandshakeOfAClient(t *testing.T) {
	const get = "GET / HTTP/1.1"
	for _, c := range []struct {
		line, fields string
		want         error
	}{
		{get, "Sec-WebSocket-Key: " + socketKey, nil},
		{get, "sec-websocket-key:\t" + socketKey + " \nSec-WebSocket-Version: 8", nil}, // the backend knows which versions it speaks
		{get, "", http1.ErrWebSocketKeyMissing},
		{get, "Sec-WebSocket-Version: 13", http1.ErrWebSocketKeyMissing},
		{get, "X-Sec-WebSocket-Key: " + socketKey, http1.ErrWebSocketKeyMissing},
		{get, "Sec-WebSocket-Key:", http1.ErrWebSocketKey},
		{get, "Sec-WebSocket-Key: x", http1.ErrWebSocketKey},
		{get, "Sec-WebSocket-Key: " + socketKey[1:], http1.ErrWebSocketKey},
		{get, "Sec-WebSocket-Key: " + socketKey + "=", http1.ErrWebSocketKey},
		{get, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQAA", http1.ErrWebSocketKey},
		{get, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZ===", http1.ErrWebSocketKey},
		{get, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZ-==", http1.ErrWebSocketKey},
		{get, "Sec-WebSocket-Key: " + socketKey + "\nSec-WebSocket-Key: " + socketKey, http1.ErrWebSocketKey},
		{"POST / HTTP/1.1", "Sec-WebSocket-Key: " + socketKey, http1.ErrWebSocketMethod},
	} {
		head := lf(c.line + "\nHost: a\nConnection: upgrade\nUpgrade: websocket\n" + strings.TrimLeft(c.fields+"\n", "\n") + "\n")
		r := new(http1.Request)
		if _, err := r.Parse([]byte(head)); err != c.want {
			t.Errorf("%q: %v, want %v", head, err, c.want)
		} else if err == nil && (string(r.WebSocketKey()) != socketKey || string(r.Protocol()) != "websocket") {
			t.Errorf("%q: key %q, protocol %q", head, r.WebSocketKey(), r.Protocol())
		}
	}
	for _, head := range []string{
		"GET / HTTP/1.1\nHost: a\nUpgrade: websocket\nSec-WebSocket-Key: " + socketKey + "\n\n",
		"GET / HTTP/1.1\nHost: a\nUpgrade: tcp\nConnection: upgrade\nSec-WebSocket-Key: " + socketKey + "\n\n",
	} {
		if r := mustParse(t, lf(head)); r.WebSocketKey() != nil {
			t.Errorf("%q: key %q", head, r.WebSocketKey())
		}
	}
}

func TestSwitchOfProtocolsIsTheOneThatWasAskedFor(t *testing.T) {
	const accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
	yes := func(v []byte) bool { return string(v) == accept }
	const connection, socket = "Connection: upgrade\n", "Upgrade: websocket\n"
	for _, c := range []struct {
		protocol, fields string
		want             error
	}{
		{"websocket", connection + socket + "Sec-WebSocket-Accept: " + accept + "\n", nil},
		{"WebSocket/13", "connection: x, Upgrade\nupgrade: WEBSOCKET\nsec-websocket-accept: " + accept + "\n", nil},
		{"websocket", connection + socket, http1.ErrAcceptMissing},
		{"websocket", connection + socket + "Sec-WebSocket-Accept: x\n", http1.ErrAccept},
		{"websocket", connection + socket + "Sec-WebSocket-Accept: " + accept + "\nSec-WebSocket-Accept: " + accept + "\n", http1.ErrAccept},
		{"websocket", socket + "Sec-WebSocket-Accept: " + accept + "\n", http1.ErrSwitchConnection},
		{"websocket", "Connection: close\n" + socket + "Sec-WebSocket-Accept: " + accept + "\n", http1.ErrSwitchConnection},
		{"websocket", connection + "Sec-WebSocket-Accept: " + accept + "\n", http1.ErrSwitchUpgrade},
		{"websocket", connection + "Upgrade: tcp\nSec-WebSocket-Accept: " + accept + "\n", http1.ErrSwitchProtocol},
		{"websocket", connection + "Upgrade: websocket, tcp\nSec-WebSocket-Accept: " + accept + "\n", http1.ErrSwitchProtocol},
		{"websocket", connection + socket + "Upgrade: tcp\nSec-WebSocket-Accept: " + accept + "\n", http1.ErrSwitchProtocol},
		{"tcp", connection + socket, http1.ErrSwitchProtocol},
		{"tcp", connection + "Upgrade:\n", http1.ErrSwitchProtocol},
		{"tcp", connection + "Upgrade: TCP\n", nil},
		{"SPDY/3.1", connection + "Upgrade: SPDY/3.1\n", nil},
	} {
		r := mustParseResponse(t, lf("HTTP/1.1 101 Switching Protocols\n"+c.fields+"\n"))
		if err := r.Switch([]byte(c.protocol), yes); err != c.want {
			t.Errorf("%s: %q: %v, want %v", c.protocol, c.fields, err, c.want)
		}
	}
	if r := mustParseResponse(t, lf("HTTP/1.0 101 OK\n"+connection+"Upgrade: tcp\n\n")); r.Switch([]byte("tcp"), yes) == nil {
		t.Error("HTTP/1.0 may switch")
	}
}
