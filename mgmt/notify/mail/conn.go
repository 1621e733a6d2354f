package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"github.com/sluicelb/sluice/mgmt/outbound"
)

// dialer connects once and always closes the connection. The library leaks connections that
// fail midway.
type dialer struct {
	server  Server
	session context.Context // ends with the whole session
	conn    net.Conn
	stop    func() bool
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := outbound.Guard(outbound.Reachable).Dialer(net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.conn = conn
	d.stop = context.AfterFunc(d.session, func() { _ = conn.Close() }) // ctx ends once connected
	var out net.Conn = &bounded{Conn: conn, left: mostSaid}
	if d.server.Secure && d.server.Port == SecurePort {
		secure := tls.Client(out, d.server.config())
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("TLS: %w", err)
		}
		out = secure
	}
	return out, nil
}

func (d *dialer) close() {
	if d.conn != nil {
		d.stop()
		_ = d.conn.Close()
	}
}

// bounded is a connection that limits the bytes received.
type bounded struct {
	net.Conn
	left int
}

var errLong = errors.New("the mail server says more than mail servers do")

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLong
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// final reports whether the server rejected a mail permanently (status 500 and above).
// Other errors are temporary.
func final(err error) bool {
	sending, ok := errors.AsType[*gomail.SendError](err)
	return ok && !sending.IsTemp() && sending.ErrorCode() >= 500
}

// plain formats an error on one line without internals.
func plain(err error, ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("the mail server did not answer in time: %w", ctx.Err())
	}
	if errors.Is(err, io.EOF) {
		return errors.New("the mail server ended the connection")
	}
	if errors.Is(err, gomail.ErrNoSupportedAuthDiscovered) || strings.Contains(err.Error(), "autodiscover") {
		return errors.New("the mail server takes the password only in a way that shows it to others: set tls, or no user")
	}
	text := clean(err.Error())
	for _, prefix := range []string{"dial failed: ", "send failed: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	if at := strings.Index(text, ", affected "); at >= 0 {
		text = text[:at]
	}
	if len(text) > 500 {
		text = strings.ToValidUTF8(text[:500], "") + "…"
	}
	return errors.New(text)
}
