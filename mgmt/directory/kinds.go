package directory

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"
)

// ErrKind occurs when a directory sends a message of a kind that does not answer the
// request.
var ErrKind = errors.New("the directory sent no response to the request")

// Checked returns a connection for the library on which every response has a kind that fits
// its request. The library itself accepts any message with a result code of 0 as the
// response to a bind. BeginTLS must come before it.
func Checked(c net.Conn) net.Conn { return &checked{Conn: c} }

// checked reads whole messages. Requests follow one another, so it keeps only the last one.
// The library writes and reads in two goroutines.
type checked struct {
	net.Conn
	asked atomic.Pointer[request]
	rest  []byte // of the last message, not read yet
}

type request struct {
	id   int64
	kind ber.Tag
}

// unsolicited is the ID of messages that answer no request: the directory ends the
// connection (RFC 4511 section 4.4).
const unsolicited = 0

// responses are the kinds of response to each kind of request (RFC 4511 section 4).
var responses = map[ber.Tag][]ber.Tag{
	ldap.ApplicationBindRequest:     {ldap.ApplicationBindResponse},
	ldap.ApplicationSearchRequest:   {ldap.ApplicationSearchResultEntry, ldap.ApplicationSearchResultReference, ldap.ApplicationSearchResultDone, ldap.ApplicationIntermediateResponse},
	ldap.ApplicationExtendedRequest: {ldap.ApplicationExtendedResponse, ldap.ApplicationIntermediateResponse},
}

// Write records the kind of a request and sends it.
func (c *checked) Write(b []byte) (int, error) {
	if p, err := ber.DecodePacketErr(b); err == nil {
		if id, kind, ok := heading(p); ok {
			c.asked.Store(&request{id, kind})
		}
	}
	return c.Conn.Write(b)
}

// Read returns bytes of the next message after it has verified that this is a response.
func (c *checked) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		var raw bytes.Buffer
		p, err := ber.ReadPacket(io.TeeReader(c.Conn, &raw))
		if err != nil {
			return 0, err
		}
		if err := c.judge(p); err != nil {
			return 0, err
		}
		c.rest = raw.Bytes()
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *checked) judge(p *ber.Packet) error {
	id, kind, ok := heading(p)
	asked := c.asked.Load()
	switch {
	case !ok:
		return fmt.Errorf("%w, but something that is no LDAP message", ErrKind)
	case asked == nil:
		return fmt.Errorf("%w, but %s before any", ErrKind, named(kind))
	case id == unsolicited && kind == ldap.ApplicationExtendedResponse:
		return errors.New("the directory ends the connection (notice of disconnection)")
	case id != asked.id:
		return fmt.Errorf("%w %d, but %s to request %d", ErrKind, asked.id, named(kind), id)
	case asked.kind == ldap.ApplicationUnbindRequest, slices.Contains(responses[asked.kind], kind):
		return nil
	}
	return fmt.Errorf("%w (%s), but %s", ErrKind, named(asked.kind), named(kind))
}

func named(kind ber.Tag) string {
	if name, ok := ldap.ApplicationMap[uint8(kind)]; ok {
		return name
	}
	return fmt.Sprintf("a message of the unknown kind %d", kind)
}

// heading returns a message's ID and kind. ok is false for invalid messages.
func heading(p *ber.Packet) (id int64, kind ber.Tag, ok bool) {
	if len(p.Children) < 2 || p.Children[1].ClassType != ber.ClassApplication {
		return 0, 0, false
	}
	id, ok = p.Children[0].Value.(int64)
	return id, p.Children[1].Tag, ok
}

// beginTLSName is the name of the extended operation (RFC 4511 section 4.14).
const beginTLSName = "1.3.6.1.4.1.1466.20037"

// BeginTLS requests TLS from a directory and makes the handshake. Responses of another
// kind, and refusals, are errors.
func BeginTLS(ctx context.Context, c net.Conn, config *tls.Config) (net.Conn, error) {
	if err := AskTLS(c); err != nil {
		return nil, err
	}
	secured := tls.Client(c, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return secured, nil
}

// AskTLS sends a request to begin TLS on a connection (STARTTLS). The handshake follows.
func AskTLS(c net.Conn) error {
	message := ber.NewSequence("LDAP Request")
	message.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, int64(1), "MessageID"))
	ask := ber.Encode(ber.ClassApplication, ber.TypeConstructed, ldap.ApplicationExtendedRequest, nil, "StartTLS")
	ask.AppendChild(ber.NewString(ber.ClassContext, ber.TypePrimitive, 0, beginTLSName, "Name"))
	message.AppendChild(ask)
	plain := &checked{Conn: c}
	if _, err := plain.Write(message.Bytes()); err != nil {
		return err
	}
	response, err := ber.ReadPacket(c)
	if err != nil {
		return err
	}
	if err := plain.judge(response); err != nil {
		return err
	}
	return ldap.GetLDAPError(response)
}
