package proxy

import (
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/http2"
)

// handshake is the protocol an exchange asks its backend to switch to. Its backend's
// answer is checked as the client would check it (RFC 6455 section 4.1): a client of
// HTTP/2 cannot, and after the switch nothing is looked at any more.
type handshake struct {
	protocol []byte // the request's Upgrade, its array kept for the next exchange
	key      [http2.KeySize]byte
	// offers are the subprotocols that the client of a WebSocket offers, and from
	// extensions on the extensions; its array is kept, too.
	offers     []byte
	extensions int
	socket     bool // the protocol is WebSocket
}

// askFor notes what the request asks for.
func (h *handshake) askFor(r *http1.Request) {
	h.protocol = append(h.protocol, r.Protocol()...)
	key := r.WebSocketKey()
	copy(h.key[:], key)
	if h.socket = key != nil; h.socket {
		h.offers, h.extensions = r.AppendWebSocketOffers(h.offers)
	}
}

// checkSwitch checks the 101 at hand.
func (ex *exchange) checkSwitch() error {
	r := &ex.w.resp
	if !ex.upgrade {
		return http1.ErrSwitchUnasked
	}
	if err := r.Switch(ex.protocol, ex.accepts); err != nil {
		return err
	}
	if ex.client.WantsTunnel() { // HTTP/2 has no use for it: the key was ours (RFC 8441 section 5)
		r.RemoveNamed(acceptField)
	}
	return nil
}

var acceptField = []byte("sec-websocket-accept")

// accepts reports whether accept is the answer to the key of the request.
func (h *handshake) accepts(accept []byte) bool { return http2.Accepts(h.key[:], accept) }

// checkOffered checks what the 101 at hand selects of the client's offers, as the client
// gets it.
func (ex *exchange) checkOffered() error {
	if !ex.socket {
		return nil
	}
	return ex.w.resp.SelectsOffered(ex.offers[:ex.extensions], ex.offers[ex.extensions:])
}
