package l7test

import (
	"crypto/sha1"
	"encoding/base64"
	"strings"
)

// The handshake of RFC 6455 section 1.3.
const (
	SocketKey    = "dGhlIHNhbXBsZSBub25jZQ=="
	SocketAccept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

	// AskSocket is a WebSocket request for /ws.
	AskSocket = "GET /ws HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + SocketKey + "\r\n\r\n"
)

// AcceptSocket returns a server's response to the head of a WebSocket request.
func AcceptSocket(head string) string {
	key := ""
	for line := range strings.Lines(head) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.EqualFold(name, "Sec-WebSocket-Key") {
			key = strings.TrimSpace(value)
		}
	}
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: " +
		base64.StdEncoding.EncodeToString(sum[:]) + "\r\n\r\n"
}
