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

// errorPacket is the first byte of an error in place of what was asked for.
const errorPacket = 0xff

// headBytes is the head of a packet: its length in three bytes, and a number.
const headBytes = 4

// packets bounds the packets of a server, for which the library makes room before they
// come: 16 MiB by the word of their first three bytes. Of a conversation that goes on by
// TLS it sees the first one alone.
type packets struct {
	net.Conn
	ctx     context.Context // of the check, whose steps follow the packets
	greeted bool            // by the whole first packet
	begun   bool            // some of its body has come
	refused bool            // which is an error in place of a greeting
	secure  bool
	passed  bool // the rest is TLS
	head    []byte
	left    int   // of the body
	problem error // the last one; the library says no more than that there was one
}

// Read reads, and looks at the heads of packets.
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

// reason is the error behind one of the library, where it says only that the connection
// is of no use.
func (p *packets) reason(err error) error {
	if p.problem != nil && (errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, driver.ErrBadConn)) {
		return p.problem
	}
	return err
}

// wasGreeted is called when the greeting has come as a whole.
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
