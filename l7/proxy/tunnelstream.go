package proxy

import (
	"io"

	"github.com/sluicelb/sluice/core/loop"
)

// relayUp is relay where the client or the backend is a stream of HTTP/2 (RFC
// 8441).
func (ex *exchange) relayUp() (moved int, ended bool) {
	l := ex.w.loop
	for ex.up.Pending() == 0 {
		n, err := ex.client.readBody(l.In[:bodyRead])
		switch {
		case err == loop.ErrDry:
			return moved, false
		case err != nil:
			if err != io.EOF {
				ex.clientEnded, ex.backendEnded = true, true // a reset ends both
				return moved, true
			}
			ex.tunnelEnd()
			return moved, true
		}
		moved += n
		if ex.tunnelSend(l.In[:n]) != nil {
			return moved, true
		}
	}
	return moved, false
}

// relayDown is relay from the backend to a stream.
func (ex *exchange) relayDown() (moved int, ended bool) {
	l := ex.w.loop
	for range readsPerTurn {
		room := ex.client.room(len(l.In))
		if room == 0 {
			return moved, false
		}
		n, err := ex.up.Read(l.In[:room])
		switch {
		case err == loop.ErrDry:
			return moved, false
		case err != nil:
			if err != io.EOF {
				ex.client.stream.cut = true // a reset ends both directions, and is passed on as one
				ex.clientEnded, ex.backendEnded = true, true
				return moved, true
			}
			ex.client.writeStream(nil, true)
			return moved, true
		}
		moved += n
		ex.client.writeStream(l.In[:n], false)
	}
	ex.up.Again()
	return moved, false
}

// wantsTunnel reports whether the client asked for a tunnel on a stream: there
// any 2xx tells that it stands, whatever the backend meant (RFC 8441 section 5).
func (cl *client) wantsTunnel() bool {
	return cl.stream != nil && cl.stream.h2 != nil && cl.stream.h2.Tunnel()
}
