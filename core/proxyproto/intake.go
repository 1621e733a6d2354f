package proxyproto

import (
	"io"

	"github.com/sluicelb/sluice/core/loop"
)

// Intake reads the expected header of a connection from its socket, and no byte after
// it. It belongs to the connection's loop. The zero value expects nothing.
type Intake struct {
	Expected Expected
	header   *Parser // state of an incomplete header; nil if nothing has arrived
}

// Outcome is the result of Take.
type Outcome uint8

// The results. After Bad, Gone and Failed the connection is unusable.
const (
	Waits  Outcome = iota // incomplete: Take must be called again when more has arrived
	Taken                 // done: no header is expected any more
	Bad                   // invalid or missing header
	Gone                  // the peer left without sending a byte, e.g. a health check
	Failed                // waiting is impossible on this machine
)

// Begun reports whether the signature of an incomplete header has arrived.
func (i *Intake) Begun() bool { return i.header != nil && i.header.Begun() }

// Take reads available bytes of the header. A source address in the header replaces the
// connection's peer address. The argument whole is a parser of the loop, for headers
// that arrive in one piece, as nearly all do. The buffer room has at least MaxV2 bytes.
// The result why is the reason for Bad.
func (i *Intake) Take(c *loop.Conn, room []byte, whole *Parser) (o Outcome, why string) {
	if i.Expected == Refused {
		return Bad, "peer not trusted to send the required PROXY header"
	}
	p := i.header
	if p == nil {
		p = whole
		p.Reset()
	}
	for {
		n, err := c.Peek(room[:MaxV2])
		if err != nil {
			return i.ended(p, err)
		}
		used, done, err := p.Feed(room[:n])
		if c.Skip(used) != nil {
			return Gone, ""
		}
		switch {
		case err == error(ErrNone) && i.Expected == Optional:
			return i.taken(), ""
		case err != nil:
			return Bad, err.Error()
		case done:
			if source := p.Header().Source; source.IsValid() {
				c.SetPeer(source)
			}
			return i.taken(), ""
		case used == 0 && c.Ended():
			return i.ended(p, io.EOF)
		case used == 0: // half a signature, which stays in the socket
			i.keep(p)
			if c.WaitMore() != nil {
				return Failed, ""
			}
			return Waits, ""
		}
	}
}

// ended handles a socket that is dry or at its end.
func (i *Intake) ended(p *Parser, err error) (o Outcome, why string) {
	switch {
	case err == loop.ErrDry:
		i.keep(p)
		return Waits, ""
	case err == io.EOF && i.Expected == Optional && !p.Begun():
		return i.taken(), "" // an incomplete signature is payload
	case err == io.EOF && p.Begun():
		return Bad, "connection ended within the PROXY header"
	}
	return Gone, ""
}

func (i *Intake) taken() Outcome {
	i.Expected, i.header = Nothing, nil
	return Taken
}

// keep stores the state of an incomplete header.
func (i *Intake) keep(p *Parser) {
	if i.header == nil {
		i.header = new(Parser)
		*i.header = *p
	}
}
