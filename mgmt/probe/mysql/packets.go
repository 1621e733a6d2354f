package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"

	"github.com/go-sql-driver/mysql"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

// errorPacket is the first byte of a packet that is an error.
const errorPacket = 0xff

// headBytes is the size of the header of a packet: its length in three bytes, and a number.
const headBytes = 4

// packets limits the packets of a server. The library allocates memory for a packet before
// it arrives, and its length field allows 16 MiB. If the conversation continues with TLS,
// packets checks only the first packet.
type packets struct {
	net.Conn
	ctx     context.Context // of the check; its step changes with the packets
	greeted bool            // the whole first packet has arrived
	begun   bool            // a part of its body has arrived
	refused bool            // it is an error instead of a greeting
	secure  bool
	passed  bool // the rest is TLS
	head    []byte
	left    int   // of the body
	problem error // the last one; the library does not return it
}

// Read reads and checks the headers of packets.
func (p *packets) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if err == nil && !p.passed {
		err = p.look(b[:n])
	}
	if err != nil {
		p.problem = err
	}
	return n, err
}

// reason returns the cause of a library error that says only that the connection is
// unusable.
func (p *packets) reason(err error) error {
	if p.problem != nil && (errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, driver.ErrBadConn)) {
		return p.problem
	}
	return err
}

// wasGreeted is called when the whole greeting has arrived.
func (p *packets) wasGreeted() {
	next := "login"
	if p.secure {
		next = wire.TLSHandshake
	}
	p.greeted = true
	probe.Step(p.ctx, next)
}

func (p *packets) look(b []byte) error {
	for len(b) > 0 && !p.passed {
		if p.left > 0 {
			p.refused = p.refused || !p.begun && b[0] == errorPacket
			p.begun = true
			part := min(p.left, len(b))
			p.left, b = p.left-part, b[part:]
			if p.left == 0 && !p.greeted && !p.refused {
				p.wasGreeted()
			}
			p.passed = p.secure && p.left == 0
			continue
		}
		p.head, b = append(p.head, b[0]), b[1:]
		if len(p.head) < headBytes {
			continue
		}
		p.left = int(p.head[0]) | int(p.head[1])<<8 | int(p.head[2])<<16
		if p.head = p.head[:0]; p.left > wire.Most && !p.greeted {
			return probe.Strange("the answer is not that of MySQL")
		} else if p.left > wire.Most {
			return wire.ErrTooMuch
		}
	}
	return nil
}
