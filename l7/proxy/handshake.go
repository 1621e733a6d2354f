package proxy

import (
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/http2"
)

// handshake is the upgrade requested by an exchange. The backend's response is checked as a
// client does (RFC 6455 section 4.1), because HTTP/2 clients cannot check it and the bytes
// after the switch are not inspected.
type handshake struct {
	protocol []byte // Upgrade of the request; its array is reused
	key      [http2.KeySize]byte
	// offers holds the subprotocols offered by a WebSocket client and, from offset
	// extensions on, the extensions. Its array is reused.
	offers     []byte
	extensions int
	socket     bool // upgrade to WebSocket
}

// askFor records the upgrade requested by r.
func (h *handshake) askFor(r *http1.Request) {
	h.protocol = append(h.protocol, r.Protocol()...)
	key := r.WebSocketKey()
	copy(h.key[:], key)
	if h.socket = key != nil; h.socket {
		h.offers, h.extensions = r.AppendWebSocketOffers(h.offers)
	}
}

// checkSwitch checks the current 101 response.
func (ex *exchange) checkSwitch() error {
	r := &ex.w.resp
	if !ex.upgrade {
		return http1.ErrSwitchUnasked
	}
	if err := r.Switch(ex.protocol, ex.accepts); err != nil {
		return err
	}
	if ex.client.WantsTunnel() { // HTTP/2 clients do not use it: the key was ours (RFC 8441 section 5)
		r.RemoveNamed(acceptField)
	}
	return nil
}

var acceptField = []byte("sec-websocket-accept")

// accepts reports whether accept matches the key of the request.
func (h *handshake) accepts(accept []byte) bool { return http2.Accepts(h.key[:], accept) }

// checkOffered checks that the 101, as sent to the client, selects only what the client
// offered.
func (ex *exchange) checkOffered() error {
	if !ex.socket {
		return nil
	}
	return ex.w.resp.SelectsOffered(ex.offers[:ex.extensions], ex.offers[ex.extensions:])
}
