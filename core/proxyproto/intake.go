package proxyproto

import (
	"io"

	"github.com/sluicelb/sluice/core/loop"
)

// Intake takes what is expected in front of a connection from its socket, and
// nothing behind it. It belongs to the connection's loop. The zero value expects
// nothing.
type Intake struct {
	Expected Expected
	header   *Parser // what has come, if it did not come whole; nil for nothing
}

// Outcome is what came of Take.
type Outcome uint8

// What may come of it. After Bad, Gone and Failed the connection is of no use.
const (
	Waits  Outcome = iota // more has to come: Take is to be called again then
	Taken                 // nothing is expected any more
	Bad                   // it does not begin as it has to
	Gone                  // the peer left, without a byte: nobody's fault, checks do that
	Failed                // this machine cannot wait for more
)

// Begun reports whether a signature has come of a header that did not come whole.
func (i *Intake) Begun() bool { return i.header != nil && i.header.Begun() }

// Take takes what the socket holds of the header. The address in it is that of
// the connection's peer from then on. The parser is the loop's own, for headers
// that come whole, as nearly all do; room is where bytes are looked at, and holds
// MaxV2 of them. Bad comes with the reason.
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
		case used == 0: // half a signature, which stays where it is
			i.keep(p)
			if c.WaitMore() != nil {
				return Failed, ""
			}
			return Waits, ""
		}
	}
}

// ended handles a socket that has no more to give now, or ever.
func (i *Intake) ended(p *Parser, err error) (o Outcome, why string) {
	switch {
	case err == loop.ErrDry:
		i.keep(p)
		return Waits, ""
	case err == io.EOF && i.Expected == Optional && !p.Begun():
		return i.taken(), "" // less than a signature is no header
	case err == io.EOF && p.Begun():
		return Bad, "connection ended within the PROXY header"
	}
	return Gone, ""
}

func (i *Intake) taken() Outcome {
	i.Expected, i.header = Nothing, nil
	return Taken
}

// keep keeps what has come of the header.
func (i *Intake) keep(p *Parser) {
	if i.header == nil {
		i.header = new(Parser)
		*i.header = *p
	}
}
