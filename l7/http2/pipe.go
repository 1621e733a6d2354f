package http2

// Pipe is a stream as who forwards HTTP/1.1 sees it: what came is read as bytes of
// HTTP/1.1, its body in chunks where that has no length, and what finds no room
// waits. Its zero value is ready; buffers are those of the loop.
type Pipe struct {
	// H2 is the stream; nil before it was opened, and once it is over: when both
	// directions ended, or it was reset.
	H2 *Stream
	// Chunked says that the body that comes has no length and is read in chunks;
	// Bare that it is read as it is all the same.
	Chunked, Bare bool
	// Ended says that the whole message has come, Sent that ours was sent.
	Ended, Sent bool
	// Trailers are those that came, as lines.
	Trailers []byte

	in    []byte // not read yet; pooled
	at    int    // bytes of in that were read
	lines int    // of those behind them, the ones that are read as they are: heads and last chunk
	told  bool   // the last chunk is in in
	out   []byte // waits for room; pooled
	tail  []byte // trailers, wait for out
	last  bool   // out, and tail, are the end of our message
}

// chunkFrame is the most that stands around a chunk.
const chunkFrame = 32

// keepLines is the largest array for trailers a pipe keeps while it rests.
const keepLines = 1 << 10

// Bring adds bytes of the body that came.
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

// BringHead adds a head that came: it is read as it is.
func (p *Pipe) BringHead(buffers Buffers, head []byte) {
	p.Bring(buffers, head)
	p.lines = len(p.in)
}

// BringTrailers keeps the trailers that came.
func (p *Pipe) BringTrailers(lines []byte) { p.Trailers = append(p.Trailers[:0], lines...) }

// EndReceived notes that the whole message has come.
func (p *Pipe) EndReceived(buffers Buffers) {
	p.Ended = true
	if p.Sent {
		p.H2 = nil
	}
	p.finishChunks(buffers)
}

// Read reads what has come into b, which has room for more than chunkFrame bytes;
// 0 when nothing is there, which is the end if Over says so. What was read of the
// body may come again.
func (p *Pipe) Read(buffers Buffers, b []byte) int {
	if p.at == len(p.in) {
		p.finishChunks(buffers) // the end may have come before it was known how the body is read
	}
	if p.at == len(p.in) {
		return 0
	}
	n := copy(b, p.in[p.at:p.at+p.lines])
	p.at += n
	p.lines -= n
	part := p.in[p.at:]
	if p.lines > 0 || p.told {
		part = nil // the rest are lines, or nothing
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

// Unread is how many bytes have come and were not read.
func (p *Pipe) Unread() int { return len(p.in) - p.at }

// Over reports whether all of the message was read but for its trailers.
func (p *Pipe) Over() bool { return p.Ended && p.at == len(p.in) }

// finishChunks puts the last chunk behind a body that is read in chunks, once
// all others were.
func (p *Pipe) finishChunks(buffers Buffers) {
	if !p.Ended || !p.Chunked || p.Bare || p.told || len(p.in) > 0 {
		return
	}
	p.told = true
	p.in = AppendLastChunk(buffers.Grow(p.in, len(p.Trailers)+8), p.Trailers)
	p.lines = len(p.in)
}

// Send sends bytes of our body, or keeps what finds no room. end says that they are
// the last, but for the trailer. On a stream that is over they go nowhere.
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

// Push sends what waits for room. It reports whether nothing is left.
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

// close ends our message after all bytes of its body were sent.
func (p *Pipe) close() {
	if !p.last || p.Sent {
		return
	}
	if len(p.tail) > 0 {
		p.H2.Trailers(p.tail)
	}
	p.EndSent()
}

// EndSent notes that the end of our message was sent.
func (p *Pipe) EndSent() {
	p.Sent = true
	if p.Ended {
		p.H2 = nil
	}
}

// Waiting is how many bytes of our body wait for room.
func (p *Pipe) Waiting() int { return len(p.out) }

// Release gives the buffers back and makes the pipe one of no stream.
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
