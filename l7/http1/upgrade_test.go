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
		{get, "sec-websocket-key:\t" + socketKey + " \nSec-WebSocket-Version: 8", nil}, // the backend knows its supported versions
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

func TestSwitchedProtocolMatchesTheRequest(t *testing.T) {
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

func TestWebSocketSelectsAnOfferedProtocol(t *testing.T) {
	const chat, deflate = "Sec-WebSocket-Protocol: chat\n", "Sec-WebSocket-Extensions: permessage-deflate; a=1\n"
	for _, c := range []struct {
		offers, selected string
		want             error
	}{
		{"", "", nil},
		{chat + deflate, "", nil},
		{chat + deflate, chat + deflate, nil},
		{"", chat, http1.ErrSubprotocol},
		{"", deflate, http1.ErrExtension},
		{deflate, chat, http1.ErrSubprotocol},
		{chat, deflate, http1.ErrExtension},
		{"Sec-WebSocket-Protocol: chat, superchat\n", "sec-websocket-protocol: superchat\n", nil},
		{"Sec-WebSocket-Protocol: a\nSec-WebSocket-Protocol: chat\n", chat, nil},
		{"Sec-WebSocket-Protocol: chats\n", chat, http1.ErrSubprotocol},
		{"Sec-WebSocket-Protocol: Chat\n", chat, http1.ErrSubprotocol},
		{"Sec-WebSocket-Protocol: a, b\n", "Sec-WebSocket-Protocol: a, b\n", http1.ErrSubprotocol},
		{chat, chat + chat, http1.ErrSubprotocol},
		{chat, "Sec-WebSocket-Protocol:\n", http1.ErrSubprotocol},
		{"Sec-WebSocket-Extensions: x;b, permessage-deflate\n", deflate, nil},
		{"Sec-WebSocket-Extensions: x\nSec-WebSocket-Extensions: y\n", "Sec-WebSocket-Extensions: y\nSec-WebSocket-Extensions: x , , y\n", nil},
		{"Sec-WebSocket-Extensions: x\n", "Sec-WebSocket-Extensions: x, y\n", http1.ErrExtension},
		{"Sec-WebSocket-Extensions: x;y\n", "Sec-WebSocket-Extensions: y\n", http1.ErrExtension},
		{"Sec-WebSocket-Extensions: x\n", "Sec-WebSocket-Extensions:\n", nil},
	} {
		r := mustParse(t, lf("GET / HTTP/1.1\nHost: a\nConnection: upgrade\nUpgrade: websocket\nSec-WebSocket-Key: "+socketKey+"\n"+c.offers+"\n"))
		offers, at := r.AppendWebSocketOffers(nil)
		res := mustParseResponse(t, lf("HTTP/1.1 101 Switching Protocols\n"+c.selected+"\n"))
		if err := res.SelectsOffered(offers[:at], offers[at:]); err != c.want {
			t.Errorf("%q: %q: %v, want %v", c.offers, c.selected, err, c.want)
		}
	}
}
