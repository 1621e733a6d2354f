package proxy

import (
	"bytes"
	"io"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http2"
)

// WebSocket to backends that speak HTTP/2: an extended CONNECT, which they have
// to allow first (RFC 8441). To the exchange it is a switch of protocols.

// openTunnel sends a request that upgrades to WebSocket.
func (ln *lane) openTunnel(head, key []byte) {
	t := ln.trunk
	switch {
	case t.h2 == nil || t.h2.Available() == 0:
		ln.err = errUnprocessed
	case !t.h2.Tunnels():
		ln.err = errNoTunnel
	default:
		ln.tunnel, ln.key = true, append(ln.key[:0], key...)
		ln.h2 = t.h2.OpenTunnel(ln, head)
		t.opened = ln.h2.ID()
		return
	}
	ln.note().moved = true
}

// await lets an exchange that wants a tunnel wait until the backend has said
// what it allows, no longer than for an answer.
func (ln *lane) await() {
	ln.reused, ln.waits = false, true
	ln.deadline = ln.trunk.w.loop.Now() + ln.ex.backend.timeout
}

// release lets the exchanges go on that have waited for the backend's settings.
func (t *trunk) release() {
	if t.settled {
		return
	}
	t.settled = true
	for ln := t.head; ln != nil; ln = ln.next {
		if ln.waits {
			ln.waits, ln.deadline = false, 0
			ln.note().stands = true
		}
	}
}

// switched makes the answer that a tunnel stands one of HTTP/1.1.
func (ln *lane) switched(head []byte) []byte {
	ln.chunked = false
	out := append(ln.trunk.w.loop.Scratch[:0], "HTTP/1.1 101 Switching Protocols\r\n"...)
	for i := 0; i+2 < len(head); { // its lines but for the first and the one that frames a body
		n := i + lineLength(head[i:])
		if i > 0 && !framing(head[i:n]) {
			out = append(out, head[i:n]...)
		}
		i = n
	}
	out = append(out, "upgrade: websocket\r\nconnection: upgrade\r\n"...)
	if len(ln.key) == 24 {
		out = append(http2.AppendAccept(append(out, "sec-websocket-accept: "...), ln.key), "\r\n"...)
	}
	out = append(out, "\r\n"...)
	ln.trunk.w.loop.Scratch = out
	return out
}

// tunnelSend sends bytes of a tunnel to the backend.
func (ex *exchange) tunnelSend(p []byte) error {
	if ln, ok := ex.up.(*lane); ok {
		return ln.send(p, false, nil)
	}
	return ex.plain().Write(p)
}

// tunnelEnd ends the client's direction of a tunnel.
func (ex *exchange) tunnelEnd() {
	if ln, ok := ex.up.(*lane); ok {
		_ = ln.send(nil, true, nil)
		return
	}
	ex.plain().CloseWrite()
}

// relayOut is relay from the backend, whatever it speaks, to a client of HTTP/1.
func (ex *exchange) relayOut() (moved int, ended bool) {
	l, dst := ex.w.loop, ex.client.conn
	for range readsPerTurn {
		if dst.Pending() != 0 {
			return moved, false
		}
		n, err := ex.up.Read(l.In)
		switch {
		case err == loop.ErrDry:
			return moved, false
		case err != nil:
			dst.CloseWrite()
			if err != io.EOF {
				ex.clientEnded, ex.backendEnded = true, true // a reset ends both
			}
			return moved, true
		}
		moved += n
		if dst.Write(l.In[:n]) != nil {
			return moved, true
		}
	}
	ex.up.Again()
	return moved, false
}

// lineLength is how long the line at the start of b is.
func lineLength(b []byte) int { return bytes.IndexByte(b, '\n') + 1 }

// framing reports whether a line, as http2 writes it, says where a body ends.
func framing(line []byte) bool {
	return bytes.HasPrefix(line, []byte("transfer-encoding:")) || bytes.HasPrefix(line, []byte("content-length:"))
}
