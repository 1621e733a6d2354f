// Package oracle checks the listener of an Oracle database (TNS). With a service it
// requests a connection to it, which shows that an instance is there. Without a service it
// does the same as tnsping.
package oracle

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

type check struct {
	server  wire.Server
	service string
}

// isService accepts only characters that cannot end the text around them.
func isService(s string) bool {
	return s != "" && len(s) <= 128 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._$#-") == ""
}

// Check is check_oracle.
func Check(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{server: wire.Server{Port: 1521}}
	f.Host(&c.server.Host, "H hostname")
	f.Port(&c.server.Port, "p port")
	f.Version(&c.server.Version)
	f.Value("s service", func(v string) error {
		if c.service = v; !isService(v) {
			return fmt.Errorf("%q is no name of a service: letters, digits and ._$#-", v)
		}
		return nil
	})
	f.Times()
	return func() (probe.Probe, error) { return c, nil }
}

// Types of packets.
const (
	typeConnect, typeAccept, typeRefuse, typeRedirect, typeResend = 1, 2, 4, 5, 11

	headBytes = 8
	dataAt    = 58 // where the text begins in CONNECT
)

// question returns CONNECT: header, capabilities of this client, and a text.
func question(text string) []byte {
	p := make([]byte, dataAt, dataAt+len(text))
	be := binary.BigEndian
	be.PutUint16(p, uint16(dataAt+len(text)))
	p[4] = typeConnect
	for i, word := range []uint16{
		310, 300, 0, // version, the oldest accepted one, options
		2048, 32767, 0x7f08, 0, 1, // sizes of units, characteristics, turnaround, byte order
		uint16(len(text)), dataAt,
	} {
		be.PutUint16(p[headBytes+2*i:], word)
	}
	return append(p, text...)
}

// Run executes the probe once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	conn, err := c.server.Open(ctx, n, to, say)
	if err != nil {
		return err
	}
	defer conn.Close()
	data := "(COMMAND=ping)"
	if c.service != "" {
		data = "(SERVICE_NAME=" + c.service + ")(CID=(PROGRAM=sluice)(HOST=sluice)(USER=sluice))"
	}
	ask := question("(DESCRIPTION=(CONNECT_DATA=" + data + "))")
	probe.Step(ctx, "CONNECT")
	for range 3 { // a listener may request the message again
		if _, err := conn.Write(ask); err != nil {
			return err
		}
		kind, body, err := receive(conn)
		if err != nil {
			return err
		}
		if kind != typeResend {
			return c.judge(kind, body, say)
		}
		say("the listener wants to hear it again")
	}
	return errors.New("the listener wants to hear the question again and again")
}

const errStrange = probe.Strange("the answer is not that of a listener of Oracle")

func receive(from net.Conn) (kind byte, body []byte, err error) {
	var head [headBytes]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return 0, nil, err
	}
	size := int(binary.BigEndian.Uint16(head[:]))
	if size < headBytes || size > 8<<10 {
		return 0, nil, errStrange
	}
	body = make([]byte, size-headBytes)
	_, err = io.ReadFull(from, body)
	return head[4], body, err
}

// meaning returns the meaning of the common errors of listeners.
func meaning(code string) string {
	switch code {
	case "12505":
		return ", the listener knows no such SID"
	case "12514":
		return ", the listener knows no such service"
	case "12516", "12520":
		return ", no instance takes connections"
	case "12519":
		return ", the instance is full"
	case "12528":
		return ", all instances are blocked"
	}
	return ""
}

// errorCode finds (ERR=12514) in a refusal; it returns "" if there is none.
func errorCode(body []byte) string {
	_, after, _ := strings.Cut(string(body), "(ERR=")
	code, _, closed := strings.Cut(after, ")")
	if !closed || len(code) > 6 || strings.Trim(code, "0123456789") != "" {
		return ""
	}
	return code
}

func (c *check) judge(kind byte, body []byte, say probe.Say) error {
	switch kind {
	case typeAccept, typeRedirect:
		say("the listener takes the connection")
		return nil
	case typeRefuse:
	default:
		return errStrange
	}
	code := errorCode(body)
	switch {
	case code == "0" && c.service == "":
		say("the listener answered the ping")
		return nil
	case code == "":
		return errors.New("the listener refused, without a reason")
	}
	return fmt.Errorf("the listener refused: ORA-%s%s", code, meaning(code))
}
