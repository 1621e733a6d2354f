package proxyproto

import "bytes"

// Signatures are the first bytes of each version.
const (
	signatureV1 = "PROXY "
	signatureV2 = "\r\n\r\n\x00\r\nQUIT\n"
)

// Parser reads one header. The zero value is usable, and so is a Parser after Reset.
type Parser struct {
	header Header
	state  state
	fixed  uint8       // bytes in line
	line   [MaxV1]byte // version 1, or version 2 up to its TLVs
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

// Reset prepares the parser for another connection.
func (p *Parser) Reset() {
	p.header, p.state, p.fixed, p.v2 = Header{}, stateStart, 0, v2{}
}

// Header returns the header, valid once Feed has returned done.
func (p *Parser) Header() Header { return p.header }

// Begun reports whether the signature has arrived.
func (p *Parser) Begun() bool { return p.state != stateStart }

// Feed parses the next bytes of the connection. b[:n] belong to the header, and done
// reports that it is complete. While the signature is incomplete n is 0, and the same
// bytes must be passed again in front of the next ones. The error is one of this
// package; the parser is unusable afterwards.
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

// step consumes bytes of the current part.
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

// start consumes the signature once it is complete.
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

// readLine consumes bytes of version 1 until its end.
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
