// Package sip checks SIP servers with OPTIONS (RFC 3261, 11), over UDP, TCP or TLS. If the
// server requires authentication, it uses a digest of the password.
package sip

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/icholy/digest"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

type check struct {
	server         wire.Server
	address        probe.Text // host and port in one, for -R
	user, password probe.Text
	stream         bool
}

// Check is check_sip.
func Check(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{server: wire.Server{Port: 5060}}
	c.server.Flags(f, "p port")
	f.Value("R", func(v string) error {
		host, port, err := net.SplitHostPort(v)
		if err != nil || host == "" || port == "" {
			return fmt.Errorf("%q is not HOST:PORT", v)
		}
		if host != probe.HostToken || port != probe.PortToken {
			if _, err := strconv.ParseUint(port, 10, 16); err != nil && port != probe.PortToken {
				return fmt.Errorf("%q is no port", port)
			}
		}
		c.address = probe.Text(v)
		return nil
	})
	f.Text(&c.user, "username u")
	f.Secret(&c.password, "password")
	f.Bool(&c.stream, "tcp")
	return func() (probe.Probe, error) {
		if c.server.Secure {
			c.stream = true
		}
		for _, r := range string(c.user) {
			if strings.ContainsRune(" <>@\";\\", r) {
				return nil, errors.New("the user name cannot stand in an address of SIP")
			}
		}
		if c.user == "" && c.password != "" {
			return nil, errors.New("a password wants a user: --username")
		}
		return c, nil
	}
}

// dialog holds the common parts of the requests of one check.
type dialog struct {
	transport, local, remote string
	id, tag                  string
	user                     string
}

// Run executes the probe once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	ask, local, end, err := c.open(ctx, n, to, say)
	if err != nil {
		return err
	}
	defer end()
	d := &dialog{transport: "UDP", local: local, remote: c.where(to), user: c.user.For(to), id: fmt.Sprintf("%016x", rand.Uint64()), tag: fmt.Sprintf("%08x", rand.Uint32())}
	if c.stream {
		d.transport = "TCP"
	}
	if c.server.Secure {
		d.transport = "TLS"
	}
	probe.Step(ctx, "OPTIONS")
	answer, err := ask(d.options(1, ""), 1)
	if err != nil {
		return err
	}
	say("answered %s", answer.status)
	if wants := answer.challenge(); wants != "" && c.password != "" {
		probe.Step(ctx, "login")
		proof, err := c.prove(answer, wants, d)
		if err != nil {
			return err
		}
		if answer, err = ask(d.options(2, proof), 2); err != nil {
			return err
		}
		say("with the password answered %s", answer.status)
		if answer.challenge() != "" {
			return fmt.Errorf("user or password was refused: %s", probe.Line(answer.status))
		}
	}
	return answer.judge()
}

// where returns host and port of the server.
func (c *check) where(to probe.Target) string {
	if c.address != "" {
		return c.address.For(to)
	}
	return c.server.Address(to)
}

// asking sends a request with a number and returns the answer to it.
type asking func(request string, number int) (*answer, error)

func (c *check) open(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) (ask asking, local string, end func(), err error) {
	if !c.stream {
		conn, err := wire.OpenUDP(ctx, n, c.server.Version, c.where(to))
		if err != nil {
			return nil, "", nil, err
		}
		return func(request string, number int) (out *answer, err error) {
			_, err = conn.Ask(ctx, []byte(request), func(b []byte) bool {
				a, err := read(bufio.NewReader(bytes.NewReader(b)))
				if err != nil || !a.is(number) {
					return false
				}
				out = a
				return true
			})
			return out, err
		}, conn.LocalAddr().String(), func() { _ = conn.Close() }, nil
	}
	plain, err := wire.Open(ctx, n, "tcp"+c.server.Version, c.where(to), wire.Most)
	if err != nil {
		return nil, "", nil, err
	}
	var conn net.Conn = plain
	if c.server.Secure {
		secured, err := c.server.TLS.Client(ctx, plain, c.server.Host, to, say)
		if err != nil {
			_ = plain.Close()
			return nil, "", nil, err
		}
		conn = wire.Heard(ctx, secured)
	}
	in := bufio.NewReader(conn)
	return func(request string, number int) (*answer, error) {
		if _, err := io.WriteString(conn, request); err != nil {
			return nil, err
		}
		for {
			a, err := read(in)
			if err != nil || a.is(number) {
				return a, err
			}
		}
	}, plain.LocalAddr().String(), func() { _ = plain.Close() }, nil
}

// options returns the request. proof is the field for authentication, "" for none.
func (d *dialog) options(number int, proof string) string {
	user, at := d.user, ""
	if user == "" {
		user = "sluice"
	} else {
		at = user + "@"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "OPTIONS sip:%s%s SIP/2.0\r\n", at, d.remote)
	fmt.Fprintf(&b, "Via: SIP/2.0/%s %s;branch=z9hG4bK%s%d;rport\r\n", d.transport, d.local, d.id, number)
	fmt.Fprintf(&b, "Max-Forwards: 70\r\nFrom: <sip:%s@%s>;tag=%s\r\nTo: <sip:%s%s>\r\nCall-ID: %s\r\nCSeq: %d OPTIONS\r\n", user, d.local, d.tag, at, d.remote, d.id, number)
	fmt.Fprintf(&b, "Contact: <sip:%s@%s>\r\nAccept: application/sdp\r\nUser-Agent: Sluice health check\r\n%sContent-Length: 0\r\n\r\n", user, d.local, proof)
	return b.String()
}

// prove makes the field that answers a challenge.
func (c *check) prove(a *answer, wants string, d *dialog) (string, error) {
	challenge, err := digest.ParseChallenge(a.head.Get(wants))
	if err != nil || !digest.CanDigest(challenge) {
		return "", errors.New("the server wants a proof of the password that is not a digest")
	}
	credentials, err := digest.Digest(challenge, digest.Options{Method: "OPTIONS", URI: "sip:" + d.user + "@" + d.remote, Username: d.user, Password: string(c.password), Count: 1})
	if err != nil {
		return "", errors.New("the server wants a proof of the password that cannot be made")
	}
	name := "Authorization"
	if wants == "Proxy-Authenticate" {
		name = "Proxy-Authorization"
	}
	return name + ": " + credentials.String() + "\r\n", nil
}

// answer is a response.
type answer struct {
	status string // 200 OK
	code   int
	head   textproto.MIMEHeader
}

const errStrange = probe.Strange("the answer is not that of SIP")

// read reads a response and skips its body.
func read(in *bufio.Reader) (*answer, error) {
	t := textproto.NewReader(in)
	line, err := t.ReadLine()
	if err != nil {
		return nil, err
	}
	status, is := strings.CutPrefix(line, "SIP/2.0 ")
	if !is || len(status) < 3 {
		return nil, errStrange
	}
	code, err := strconv.Atoi(status[:3])
	if err != nil || code < 100 || code > 699 {
		return nil, errStrange
	}
	head, err := t.ReadMIMEHeader()
	if err != nil {
		return nil, err
	}
	if size := head.Get("Content-Length"); size != "" && size != "0" {
		n, err := strconv.ParseUint(strings.TrimSpace(size), 10, 16)
		if err != nil {
			return nil, errStrange
		}
		if _, err := in.Discard(int(n)); err != nil {
			return nil, err
		}
	}
	return &answer{status, code, head}, nil
}

// is reports whether a response is the final response to a request.
func (a *answer) is(number int) bool {
	return a.code >= 200 && strings.Join(strings.Fields(a.head.Get("Cseq")), " ") == strconv.Itoa(number)+" OPTIONS"
}

// challenge returns the name of the field with the challenge of an answer, "" for none.
func (a *answer) challenge() string {
	switch a.code {
	case 401:
		return "Www-Authenticate"
	case 407:
		return "Proxy-Authenticate"
	}
	return ""
}

// judge accepts every answer that shows that the server works. These include answers for an
// unknown user, an unknown method or a missing password.
func (a *answer) judge() error {
	switch {
	case a.code < 300, a.code == 401, a.code == 404, a.code == 405, a.code == 407:
		return nil
	}
	return fmt.Errorf("answered %s", probe.Line(a.status))
}
