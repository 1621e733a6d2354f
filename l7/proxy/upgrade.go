package proxy

import (
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/http2"
)

// upgrade is the upgrade requested by an exchange. The backend's response is checked as a
// client does (RFC 6455 section 4.1), because HTTP/2 clients cannot check it and the bytes
// after the switch are not inspected.
type upgrade struct {
	requested bool
	socket    bool   // upgrade to WebSocket
	protocol  []byte // Upgrade of the request; its array is reused
	key       [http2.KeySize]byte
	// offers holds the subprotocols offered by a WebSocket client and, from offset
	// extensions on, the extensions. Its array is reused.
	offers     []byte
	extensions int
}

// request records the upgrade requested by r.
func (u *upgrade) request(r *http1.Request) {
	u.requested = true
	u.protocol = append(u.protocol, r.Protocol()...)
	key := r.WebSocketKey()
	copy(u.key[:], key)
	if u.socket = key != nil; u.socket {
		u.offers, u.extensions = r.AppendWebSocketOffers(u.offers)
	}
}

// check checks a 101 response. own means that the key is ours, not the client's.
func (u *upgrade) check(r *http1.Response, own bool) error {
	if !u.requested {
		return http1.ErrSwitchUnasked
	}
	if err := r.Switch(u.protocol, u.accepts); err != nil {
		return err
	}
	if own { // HTTP/2 clients do not use it (RFC 8441 section 5)
		r.RemoveNamed(acceptField)
	}
	return nil
}

var acceptField = []byte("sec-websocket-accept")

// accepts reports whether accept matches the key of the request.
func (u *upgrade) accepts(accept []byte) bool { return http2.Accepts(u.key[:], accept) }

// checkOffered checks that the 101, as sent to the client, selects only what the client
// offered.
func (u *upgrade) checkOffered(r *http1.Response) error {
	if !u.socket {
		return nil
	}
	return r.SelectsOffered(u.offers[:u.extensions], u.offers[u.extensions:])
}
