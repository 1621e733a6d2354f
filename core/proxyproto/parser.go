package proxyproto

import "bytes"

// Signatures: how each version begins.
const (
	signatureV1 = "PROXY "
	signatureV2 = "\r\n\r\n\x00\r\nQUIT\n"
)

// Parser reads one header. The zero value is ready; so is one after Reset.
type Parser struct {
	header Header
	state  state
	fixed  uint8       // bytes in line
	line   [MaxV1]byte // version 1, or all of version 2 before the TLVs
	v2     v2
}

type state uint8

const (
	stateStart state = iota // no signature yet
	stateLine               // version 1
	stateFixed              // version 2, until the end of its addresses
	stateTLVs
	stateDone
	stateFailed
)

// Reset makes the parser ready for another connection.
func (p *Parser) Reset() {
	p.header, p.state, p.fixed, p.v2 = Header{}, stateStart, 0, v2{}
}

// Header is what was read; meaningful once Feed reported done.
func (p *Parser) Header() Header { return p.header }

// Begun reports whether a signature has come.
func (p *Parser) Begun() bool { return p.state != stateStart }

// Feed takes the next bytes of the connection: b[:n] belong to the header, and
// done says that it is complete. As long as that is undecided n is 0, and the
// same bytes belong in front of the next ones. The error is one of this
// package; the parser is of no use afterwards.
func (p *Parser) Feed(b []byte) (n int, done bool, err error) {
	for n < len(b) && p.state != stateDone {
		used, err := p.step(b[n:])
		if err != nil {
			p.state = stateFailed
			return n, false, err
		}
		if used == 0 {
			return n, p.state == stateDone, nil
		}
		n += used
	}
	return n, p.state == stateDone, nil
}

// step takes bytes of the part at hand.
func (p *Parser) step(b []byte) (n int, err error) {
	switch p.state {
	case stateStart:
		return p.start(b)
	case stateLine:
		return p.readLine(b)
	case stateFixed:
		return p.readFixed(b)
	case stateTLVs:
		return p.readTLVs(b)
	}
	return 0, ErrNone
}

// start takes a signature, once it is whole.
func (p *Parser) start(b []byte) (n int, err error) {
	for _, s := range [...]struct {
		text  string
		next  state
		about Version
	}{{signatureV1, stateLine, V1}, {signatureV2, stateFixed, V2}} {
		n := min(len(b), len(s.text))
		if string(b[:n]) != s.text[:n] {
			continue
		}
		if n < len(s.text) {
			return 0, nil
		}
		p.state, p.header.Version = s.next, s.about
		p.v2.begin(b[:n])
		p.fixed = uint8(copy(p.line[:], b[:n]))
		return n, nil
	}
	return 0, ErrNone
}

// readLine takes bytes of version 1 until its end.
func (p *Parser) readLine(b []byte) (n int, err error) {
	end := bytes.IndexByte(b, '\n') + 1
	if end == 0 {
		end = len(b)
	}
	if int(p.fixed)+end > MaxV1 {
		return 0, ErrLong
	}
	p.fixed += uint8(copy(p.line[p.fixed:], b[:end]))
	line := p.line[:p.fixed]
	switch {
	case line[len(line)-1] == '\n':
		if err := p.header.readLine(line[len(signatureV1):]); err != nil {
			return 0, err
		}
		p.state = stateDone
	case len(line) == MaxV1:
		return 0, ErrLong
	}
	return end, nil
}
