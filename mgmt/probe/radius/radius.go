// Package radius checks whether RADIUS servers authenticate a user (RFC 2865). Request and
// answer have a Message-Authenticator (RFC 3579, 3.2): servers with protection against
// forged answers require it in requests.
package radius

import (
	"context"
	"crypto/hmac"
	"crypto/md5"
	"errors"
	"fmt"
	"net/netip"

	"layeh.com/radius"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

type check struct {
	host                   probe.Host
	port                   probe.Port
	version                string
	user, password, secret probe.Text
	nasID                  probe.Text
	nasIP                  netip.Addr
	rejected               bool // a refused user is healthy: the server answers
	status                 bool // Status-Server instead of a user (RFC 5997)
}

// Check is check_radius.
func Check(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{port: 1812, nasID: "sluice"}
	f.Host(&c.host, "H hostname")
	f.Port(&c.port, "P port")
	f.Version(&c.version)
	f.Text(&c.user, "u username")
	f.Secret(&c.password, "p password")
	f.Secret(&c.secret, "secret")
	f.Text(&c.nasID, "n nas-id")
	f.Value("N nas-ip-address", func(v string) (err error) {
		if c.nasIP, err = netip.ParseAddr(v); err != nil || !c.nasIP.Is4() {
			return fmt.Errorf("%q is no address of IPv4", v)
		}
		return nil
	})
	f.Bool(&c.rejected, "accept-reject")
	f.Bool(&c.status, "status-server")
	f.Times()
	return func() (probe.Probe, error) {
		switch {
		case c.secret == "":
			return nil, errors.New("the secret shared with the server is missing: --secret")
		case c.status == (c.user != ""):
			return nil, errors.New("write a user (-u) and a password (-p), or --status-server")
		case len(c.password) > 128:
			return nil, errors.New("the password has more than 128 bytes")
		}
		return c, nil
	}
}

// Types of attributes, and the length of a Message-Authenticator.
const (
	typeUserName, typeUserPassword, typeNASIPAddress, typeNASIdentifier, typeMessageAuthenticator = 1, 2, 4, 32, 80

	sumBytes  = md5.Size
	headBytes = 20
)

// question returns a request with its Message-Authenticator.
func (c *check) question(to probe.Target) ([]byte, error) {
	code := radius.CodeAccessRequest
	if c.status {
		code = radius.CodeStatusServer
	}
	p := radius.New(code, []byte(c.secret))
	// It must be the first attribute, so that nothing before it can be forged.
	p.Add(typeMessageAuthenticator, make([]byte, sumBytes))
	if c.user != "" {
		name, err := radius.NewString(c.user.For(to))
		if err != nil {
			return nil, err
		}
		password, err := radius.NewUserPassword([]byte(c.password), p.Secret, p.Authenticator[:])
		if err != nil {
			return nil, errors.New("the password cannot be sent")
		}
		p.Add(typeUserName, name)
		p.Add(typeUserPassword, password)
	}
	if c.nasID != "" {
		id, err := radius.NewString(c.nasID.For(to))
		if err != nil {
			return nil, err
		}
		p.Add(typeNASIdentifier, id)
	}
	if c.nasIP.IsValid() {
		p.Add(typeNASIPAddress, c.nasIP.AsSlice())
	}
	b, err := p.Encode()
	if err != nil {
		return nil, err
	}
	copy(b[headBytes+2:], sum(b, p.Secret))
	return b, nil
}

// sum returns the Message-Authenticator of a packet in which it is zero.
func sum(packet, secret []byte) []byte {
	h := hmac.New(md5.New, secret)
	h.Write(packet)
	return h.Sum(nil)
}

// authentic reports whether an answer belongs to the request and was made with the secret.
// Servers without that protection omit the Message-Authenticator.
func authentic(answer, question, secret []byte) bool {
	p, err := radius.Parse(answer, secret)
	if err != nil || p.Identifier != question[1] {
		return false
	}
	answer = append([]byte{}, answer[:int(answer[2])<<8|int(answer[3])]...)
	if !radius.IsAuthenticResponse(answer, question, secret) {
		return false
	}
	at := find(answer)
	if at < 0 {
		return true
	}
	given := [sumBytes]byte(answer[at:])
	clear(answer[at : at+sumBytes])
	copy(answer[4:headBytes], question[4:headBytes])
	return hmac.Equal(given[:], sum(answer, secret))
}

// find returns the position of the Message-Authenticator in a packet, -1 for none.
func find(packet []byte) int {
	for at := headBytes; at+2 <= len(packet) && packet[at+1] >= 2; at += int(packet[at+1]) {
		if size := int(packet[at+1]); packet[at] == typeMessageAuthenticator && size == 2+sumBytes && at+size <= len(packet) {
			return at + 2
		}
	}
	return -1
}

// Run executes the probe once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	question, err := c.question(to)
	if err != nil {
		return err
	}
	conn, err := wire.OpenUDP(ctx, n, c.version, probe.Address(c.host, c.port, to))
	if err != nil {
		return err
	}
	defer conn.Close()
	if probe.Step(ctx, "login"); c.status {
		probe.Step(ctx, "Status-Server")
	}
	answer, err := conn.Ask(ctx, question, func(b []byte) bool {
		is := authentic(b, question, []byte(c.secret))
		if !is {
			say("an answer is not by who knows the secret")
		}
		return is
	})
	if errors.Is(err, wire.ErrUnfit) {
		return probe.Strange("the answer is not by a server that knows the secret (--secret)")
	}
	if err != nil {
		return err
	}
	code := radius.Code(answer[0])
	say("answered %s", code)
	switch {
	case code == radius.CodeAccessAccept, c.rejected && (code == radius.CodeAccessReject || code == radius.CodeAccessChallenge):
		return nil
	case code == radius.CodeAccessReject:
		return errors.New("the user was rejected")
	}
	return fmt.Errorf("answered %s, wanted Access-Accept", code)
}
