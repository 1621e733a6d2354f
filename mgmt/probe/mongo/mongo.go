// Package mongo checks MongoDB with hello: one message in each direction (OP_MSG, with a
// BSON document in it). A driver would keep pools, monitors and topologies for that.
package mongo

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

type check struct {
	server wire.Server
	role   string
}

// Check is check_mongodb.
func Check(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{wire.Server{Port: 27017}, "any"}
	c.server.Flags(f, "p port P")
	f.Value("role", func(v string) error {
		if v != "primary" && v != "secondary" && v != "any" {
			return fmt.Errorf("%q is no role: primary, secondary or any", v)
		}
		c.role = v
		return nil
	})
	return func() (probe.Probe, error) { return c, nil }
}

const (
	opMsg     = 2013
	headBytes = 16
	requestID = 1
)

// question returns a message with {hello: 1, $db: "admin"}.
func question() []byte {
	doc := []byte{0, 0, 0, 0, typeInt32}
	doc = append(doc, "hello\x00\x01\x00\x00\x00"...)
	doc = append(doc, typeString)
	doc = append(doc, "$db\x00\x06\x00\x00\x00admin\x00\x00"...)
	binary.LittleEndian.PutUint32(doc, uint32(len(doc)))
	le := binary.LittleEndian.AppendUint32
	m := le(le(le(le(nil, uint32(headBytes+5+len(doc))), requestID), 0), opMsg)
	return append(append(m, 0, 0, 0, 0, 0), doc...)
}

// Run executes the probe once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	conn, err := c.server.Open(ctx, n, to, say)
	if err != nil {
		return err
	}
	defer conn.Close()
	probe.Step(ctx, "hello")
	if _, err := conn.Write(question()); err != nil {
		return err
	}
	doc, err := receive(conn)
	if err != nil {
		return err
	}
	said, err := readHello(doc)
	if err != nil {
		return err
	}
	say("hello was answered: %s", said)
	if said.ok {
		probe.Step(ctx, "role")
	}
	return said.judge(c.role)
}

const errStrange = probe.Strange("the answer is not that of MongoDB")

// receive reads the document of an answer.
func receive(from io.Reader) ([]byte, error) {
	var head [headBytes + 5]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	size := le.Uint32(head[:])
	if size < uint32(len(head))+5 || size > wire.Most || le.Uint32(head[8:]) != requestID || le.Uint32(head[12:]) != opMsg || head[20] != 0 {
		return nil, errStrange
	}
	doc := make([]byte, size-uint32(len(head)))
	_, err := io.ReadFull(from, doc)
	return doc, err
}

// hello holds the fields of the answer.
type hello struct {
	ok, primary, secondary bool
	problem                string
}

func (h hello) String() string {
	switch {
	case h.primary:
		return "primary"
	case h.secondary:
		return "secondary"
	}
	return "neither primary nor secondary"
}

func (h hello) judge(role string) error {
	switch {
	case !h.ok && h.problem != "":
		return fmt.Errorf("refused: %s", probe.Line(h.problem))
	case !h.ok:
		return errors.New("refused")
	case role == "any" && !h.primary && !h.secondary:
		return errors.New("the server is neither primary nor secondary")
	case role == "primary" && !h.primary, role == "secondary" && !h.secondary:
		return fmt.Errorf("the server is %s, wanted %s", h, role)
	}
	return nil
}
