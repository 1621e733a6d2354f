// Package mssql checks Microsoft SQL Server with PRELOGIN, the first message of every
// connection ([MS-TDS] 2.2.6.5). The answer shows that the server accepts connections, and
// its version. The check needs no user.
package mssql

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

type check struct{ server wire.Server }

// Check is check_mssql.
func Check(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{wire.Server{Port: 1433}}
	f.Host(&c.server.Host, "H hostname")
	f.Port(&c.server.Port, "p port")
	f.Version(&c.server.Version)
	f.Times()
	return func() (probe.Probe, error) { return c, nil }
}

// Types of packets, options of PRELOGIN, and the status of a message's last packet.
const (
	typePrelogin, typeReply = 0x12, 0x04

	optionVersion, optionEncryption, optionEnd = 0x00, 0x01, 0xff

	lastPacket = 0x01
	headBytes  = 8
)

// prelogin is the request: the version of this client, and that encryption is possible.
var prelogin = []byte{
	typePrelogin, lastPacket, 0, 26, 0, 0, 1, 0,
	optionVersion, 0, 11, 0, 6,
	optionEncryption, 0, 17, 0, 1,
	optionEnd,
	16, 0, 0, 0, 0, 0,
	0,
}

// Run executes the probe once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	conn, err := c.server.Open(ctx, n, to, say)
	if err != nil {
		return err
	}
	defer conn.Close()
	probe.Step(ctx, "PRELOGIN")
	if _, err := conn.Write(prelogin); err != nil {
		return err
	}
	var head [headBytes]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return err
	}
	size := int(binary.BigEndian.Uint16(head[2:]))
	if head[0] != typeReply || size < headBytes+1 || size > 4096 {
		return errStrange
	}
	body := make([]byte, size-headBytes)
	if _, err := io.ReadFull(conn, body); err != nil {
		return err
	}
	version, err := readVersion(body)
	if err != nil {
		return err
	}
	say("PRELOGIN was answered by version %s", version)
	return nil
}

const errStrange = probe.Strange("the answer is not that of SQL Server")

// readVersion finds the version among the options of an answer. The list of options has a
// type, an offset and a length for each; the values follow the list.
func readVersion(body []byte) (string, error) {
	for rest := body; len(rest) >= 5 && rest[0] != optionEnd; rest = rest[5:] {
		at, size := int(binary.BigEndian.Uint16(rest[1:])), int(binary.BigEndian.Uint16(rest[3:]))
		if rest[0] != optionVersion {
			continue
		}
		if size < 6 || at+size > len(body) {
			return "", errStrange
		}
		v := body[at:]
		return fmt.Sprintf("%d.%d.%d", v[0], v[1], binary.BigEndian.Uint16(v[2:])), nil
	}
	return "", errStrange
}
