// Package mqtt checks whether brokers accept a connection (MQTT 3.1.1): the broker answers
// CONNECT with CONNACK, which contains the result.
package mqtt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

type check struct {
	server             wire.Server
	id, user, password probe.Text
}

// Check is check_mqtt.
func Check(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{server: wire.Server{Port: 1883}}
	c.server.Flags(f, "p port")
	f.Text(&c.id, "i id")
	f.Text(&c.user, "u user")
	f.Secret(&c.password, "P password")
	return func() (probe.Probe, error) {
		if c.password != "" && c.user == "" {
			return nil, errors.New("a password wants a user: -u")
		}
		return c, nil
	}
}

// Types of packets, in the upper half of their first byte, and flags of CONNECT.
const (
	connect, connack, pingreq, pingresp, disconnect = 0x10, 0x20, 0xc0, 0xd0, 0xe0

	cleanSession, withPassword, withUser = 0x02, 0x40, 0x80
)

// codes are the return codes of a broker that refuses a connection (3.2.2.3).
var codes = []string{"", "this version of the protocol is not accepted", "the client identifier is not accepted", "the service is not available", "user or password is wrong", "not authorized"}

// Run executes the probe once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	conn, err := c.server.Open(ctx, n, to, say)
	if err != nil {
		return err
	}
	defer conn.Close()
	probe.Step(ctx, "login (CONNECT)")
	if _, err := conn.Write(c.hello(to)); err != nil {
		return err
	}
	var answer [4]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return err
	}
	code := int(answer[3])
	switch {
	case answer[0] != connack || answer[1] != 2 || answer[2] > 1 || code >= len(codes):
		return fmt.Errorf("answered % x, which is no CONNACK", answer)
	case code != 0:
		return fmt.Errorf("refused: %s", codes[code])
	}
	say("CONNECT was accepted")
	probe.Step(ctx, "PINGREQ")
	if _, err := conn.Write([]byte{pingreq, 0}); err != nil {
		return err
	}
	if _, err := io.ReadFull(conn, answer[:2]); err != nil {
		return err
	}
	if answer[0] != pingresp || answer[1] != 0 {
		return fmt.Errorf("answered % x, which is no PINGRESP", answer[:2])
	}
	say("PINGREQ was answered")
	_, _ = conn.Write([]byte{disconnect, 0}) // for an orderly end
	return nil
}

// hello returns CONNECT: a new session with a keep-alive of a minute.
func (c *check) hello(to probe.Target) []byte {
	id := c.id.For(to)
	if id == "" {
		id = fmt.Sprintf("sluice-%08x", rand.Uint32()) // the broker would disconnect another client with the same id
	}
	flags := byte(cleanSession)
	body := text(nil, "MQTT")
	payload := text(nil, id)
	if c.user != "" {
		flags |= withUser
		payload = text(payload, c.user.For(to))
	}
	if c.password != "" {
		flags |= withPassword
		payload = text(payload, string(c.password))
	}
	body = append(body, 4, flags, 0, 60)
	body = append(body, payload...)
	packet := []byte{connect}
	for size := len(body); ; {
		b := byte(size & 0x7f)
		if size >>= 7; size > 0 {
			packet = append(packet, b|0x80)
			continue
		}
		return append(append(packet, b), body...)
	}
}

// text appends a string preceded by its length.
func text(to []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(to, uint16(len(s))), s...)
}
