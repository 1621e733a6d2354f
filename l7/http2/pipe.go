package http2

// Pipe presents a stream to code that forwards HTTP/1.1. Received bytes are read as
// HTTP/1.1, with chunks if the body has no length. Bytes to send wait until there is room.
// Its zero value is ready. buffers is the loop's pool.
type Pipe struct {
	// H2 is the stream. It is nil before the stream is opened and after both directions
	// ended or it was reset.
	H2 *Stream
	// Chunked means that the received body has no length and is read in chunks. Bare means
	// that it is read raw nevertheless.
	Chunked, Bare bool
	// Ended means that the whole message has arrived, Sent that ours was sent.
	Ended, Sent bool
	// Trailers holds the received trailer lines.
	Trailers []byte

	in    []byte // unread bytes; pooled
	at    int    // bytes of in already read
	lines int    // leading bytes of in that are read verbatim: heads and the last chunk
	told  bool   // the last chunk is in in
	out   []byte // bytes waiting for room; pooled
	tail  []byte // trailers that follow out
	last  bool   // out and tail end our message
}

// chunkFrame bounds the framing around a chunk.
const chunkFrame = 32

// keepLines is the largest array that an idle pipe keeps for trailers.
const keepLines = 1 << 10

// Bring adds received bytes of the body.
func (p *Pipe) Bring(buffers Buffers, b []byte) {
	if len(b) == 0 {
		return
	}
	if p.at > 0 {
		p.in = p.in[:copy(p.in, p.in[p.at:])]
		p.at = 0
	}
	p.in = append(buffers.Grow(p.in, len(b)), b...)
}

// BringHead adds a received head, which is read verbatim.
func (p *Pipe) BringHead(buffers Buffers, head []byte) {
	p.Bring(buffers, head)
	p.lines = len(p.in)
}

// BringTrailers stores the received trailers.
func (p *Pipe) BringTrailers(lines []byte) { p.Trailers = append(p.Trailers[:0], lines...) }

// EndReceived marks the whole message as received.
func (p *Pipe) EndReceived(buffers Buffers) {
	p.Ended = true
	if p.Sent {
		p.H2 = nil
	}
	p.finishChunks(buffers)
}

// Read reads received bytes into b, which must have room for more than chunkFrame bytes. It
// returns 0 if none are available; Over tells whether that is the end. Bytes read make room
// for more of the body.
func (p *Pipe) Read(buffers Buffers, b []byte) int {
	if p.at == len(p.in) {
		p.finishChunks(buffers) // the end may arrive before the form of the body is known
	}
	if p.at == len(p.in) {
		return 0
	}
	n := copy(b, p.in[p.at:p.at+p.lines])
	p.at += n
	p.lines -= n
	part := p.in[p.at:]
	if p.lines > 0 || p.told {
		part = nil // the rest is verbatim, or empty
	}
	switch room := len(b) - n; {
	case !p.Chunked || p.Bare:
		n += copy(b[n:], part)
		part = part[:min(room, len(part))]
	case len(part) > 0 && room > chunkFrame:
		part = part[:min(room-chunkFrame, len(part))]
		n += len(AppendChunk(b[n:n], part))
	default:
		part = nil
	}
	p.at += len(part)
	if len(part) > 0 && p.H2 != nil {
		p.H2.Consumed(len(part))
	}
	if p.at == len(p.in) {
		buffers.Put(p.in)
		p.in, p.at = nil, 0
	}
	p.finishChunks(buffers)
	return n
}

// Unread returns the number of received but unread bytes.
func (p *Pipe) Unread() int { return len(p.in) - p.at }

// Over reports whether the whole message was read, apart from trailers.
func (p *Pipe) Over() bool { return p.Ended && p.at == len(p.in) }

// finishChunks adds the last chunk to a chunked body once all others were read.
func (p *Pipe) finishChunks(buffers Buffers) {
	if !p.Ended || !p.Chunked || p.Bare || p.told || len(p.in) > 0 {
		return
	}
	p.told = true
	p.in = AppendLastChunk(buffers.Grow(p.in, len(p.Trailers)+8), p.Trailers)
	p.lines = len(p.in)
}

// Send sends bytes of our body and keeps those without room. end means that only the trailer
// may follow. After the end of the stream the bytes are dropped.
func (p *Pipe) Send(buffers Buffers, b []byte, end bool, trailer []byte) {
	p.last = p.last || end
	p.tail = append(p.tail, trailer...)
	if p.H2 == nil || p.Sent {
		return
	}
	if len(p.out) == 0 {
		if fin := p.last && len(p.tail) == 0; len(b) > 0 || fin {
			b = b[p.H2.Data(b, fin):]
		}
		if len(b) == 0 {
			p.close()
			return
		}
	}
	p.out = append(buffers.Grow(p.out, len(b)), b...)
}

// Push sends waiting bytes. It reports whether none are left.
func (p *Pipe) Push(buffers Buffers) bool {
	if len(p.out) == 0 || p.H2 == nil {
		return len(p.out) == 0
	}
	n := p.H2.Data(p.out, p.last && len(p.tail) == 0)
	if n < len(p.out) {
		p.out = p.out[:copy(p.out, p.out[n:])]
		return false
	}
	buffers.Put(p.out)
	p.out = nil
	p.close()
	return true
}

// close ends our message after the whole body was sent.
func (p *Pipe) close() {
	if !p.last || p.Sent {
		return
	}
	if len(p.tail) > 0 {
		p.H2.Trailers(p.tail)
	}
	p.EndSent()
}

// EndSent marks our message as sent.
func (p *Pipe) EndSent() {
	p.Sent = true
	if p.Ended {
		p.H2 = nil
	}
}

// Waiting returns the number of body bytes that wait for room.
func (p *Pipe) Waiting() int { return len(p.out) }

// Release returns the buffers and resets the pipe.
func (p *Pipe) Release(buffers Buffers) {
	for _, b := range [...]*[]byte{&p.in, &p.out} {
		if *b != nil {
			buffers.Put(*b)
		}
	}
	for _, b := range [...]*[]byte{&p.Trailers, &p.tail} {
		if cap(*b) > keepLines {
			*b = nil
		}
	}
	*p = Pipe{Trailers: p.Trailers[:0], tail: p.tail[:0]}
}
