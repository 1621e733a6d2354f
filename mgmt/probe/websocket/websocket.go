// Package websocket requests a WebSocket from web servers (RFC 6455). It checks whether the
// server accepts the upgrade and, with --ping, whether it answers a ping.
package websocket

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

type check struct {
	server    wire.Server
	path      probe.Text
	virtual   probe.Text
	origin    probe.Text
	protocols probe.Text
	ping      bool
}

// Check is check_websocket.
func Check(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{server: wire.Server{Port: 80}, path: "/"}
	c.server.Flags(f, "p port")
	f.Path(&c.path, "u url")
	f.Text(&c.virtual, "vhost")
	f.Text(&c.origin, "origin")
	f.Text(&c.protocols, "protocol")
	f.Bool(&c.ping, "ping")
	return func() (probe.Probe, error) { return c, nil }
}

// Run executes the probe once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	conn, err := c.server.Open(ctx, n, to, say)
	if err != nil {
		return err
	}
	defer conn.Close()
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce) // never fails
	key := base64.StdEncoding.EncodeToString(nonce)
	request, err := c.request(key, to)
	if err != nil {
		return err
	}
	probe.Step(ctx, "upgrade")
	if err := request.Write(conn); err != nil {
		return err
	}
	in := bufio.NewReader(conn)
	answer, err := http.ReadResponse(in, request)
	if err != nil {
		return probe.Unread(err)
	}
	defer answer.Body.Close()
	say("answered %s", answer.Status)
	if err := c.judge(answer, key); err != nil {
		return err
	}
	if c.ping {
		probe.Step(ctx, "ping")
		if err := pinged(conn, in); err != nil {
			return err
		}
		say("the ping was answered")
	}
	_, _ = conn.Write(frame(opClose, []byte{0x03, 0xe8})) // 1000, for an orderly end
	return nil
}

func (c *check) request(key string, to probe.Target) (*http.Request, error) {
	name := c.virtual.For(to)
	if name == "" {
		name = c.server.Authority(to)
	}
	r, err := http.NewRequest(http.MethodGet, "http://"+name+c.path.For(to), nil)
	if err != nil {
		return nil, errors.New("the address of the WebSocket is none")
	}
	r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Key": {key}, "Sec-Websocket-Version": {"13"}, "User-Agent": {"Sluice health check"}}
	if c.origin != "" {
		r.Header.Set("Origin", c.origin.For(to))
	}
	if c.protocols != "" {
		r.Header.Set("Sec-Websocket-Protocol", c.protocols.For(to))
	}
	return r, nil
}

// judge checks an answer by RFC 6455, 4.1.
func (c *check) judge(r *http.Response, key string) error {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	switch {
	case r.StatusCode != http.StatusSwitchingProtocols:
		return fmt.Errorf("answered %s, wanted 101", probe.Line(r.Status))
	case !strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		return errors.New("answered 101 for something else than WebSocket")
	case r.Header.Get("Sec-Websocket-Accept") != base64.StdEncoding.EncodeToString(sum[:]):
		return errors.New("answered 101 without the proof that it heard the question (Sec-WebSocket-Accept)")
	}
	return nil
}

const opClose, opPing, opPong = 0x8, 0x9, 0xa

// frame returns one short frame of a client: final, and masked as required.
func frame(op byte, payload []byte) []byte {
	var mask [4]byte
	_, _ = rand.Read(mask[:])
	out := append([]byte{0x80 | op, 0x80 | byte(len(payload))}, mask[:]...)
	for i, b := range payload {
		out = append(out, b^mask[i%4])
	}
	return out
}

// pinged sends a ping and reads up to its pong. It skips other frames of the server.
func pinged(to io.Writer, in *bufio.Reader) error {
	const payload = "sluice"
	if _, err := to.Write(frame(opPing, []byte(payload))); err != nil {
		return err
	}
	for {
		op, body, err := readFrame(in)
		switch {
		case err != nil:
			return err
		case op == opClose:
			return errors.New("the server closed the WebSocket")
		case op == opPong && string(body) == payload:
			return nil
		}
	}
}

// readFrame reads a frame of the server. It returns the body only of control frames.
func readFrame(in *bufio.Reader) (op byte, body []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, nil, err
	}
	op, size := head[0]&0x0f, int(head[1]&0x7f)
	if head[1]&0x80 != 0 {
		return 0, nil, errors.New("the server sent a masked frame")
	}
	if size < 126 {
		body = make([]byte, size)
		_, err = io.ReadFull(in, body)
		return op, body, err
	}
	wide := make([]byte, 2)
	if size == 127 {
		wide = make([]byte, 8)
	}
	if _, err := io.ReadFull(in, wide); err != nil {
		return 0, nil, err
	}
	size = 0
	for _, b := range wide {
		if size = size<<8 | int(b); size > wire.Most {
			return 0, nil, wire.ErrTooMuch
		}
	}
	_, err = in.Discard(size)
	return op, nil, err
}
