package client

import "github.com/sluicelb/sluice/core/loop"

// batch holds the received requests of a connection that have not begun. All bytes of a read
// are parsed first: a stream that is cancelled or violates the protocol right after its head
// costs only its parsing (rapid reset, CVE-2023-44487; MadeYouReset, CVE-2025-8671). A
// request at the end of a read never waits.
type batch struct {
	heads []byte  // heads of the requests, concatenated; pooled
	first *stream // first waiting stream
	count int     // number of waiting streams
	begun int     // requests begun in this turn
}

const (
	// beginsPerTurn bounds the requests of one connection that begin per loop turn. Each may
	// cause a backend connect of about 20 µs.
	beginsPerTurn = 32
	// framesPerTurn is the number of frames of one connection after which reading pauses
	// until the next turn.
	framesPerTurn = 512
)

// postpone delays a request until all bytes of its read are parsed.
func (c *h2Conn) postpone(s *stream, head []byte) {
	b := &c.batch
	s.waits, s.at = true, len(b.heads)
	b.heads = append(c.server.loop.Buffers.Grow(b.heads, len(head)), head...)
	if b.count++; b.count == 1 {
		b.first = s
	}
}

// withdraw removes a request from the batch.
func (c *h2Conn) withdraw(s *stream) {
	b := &c.batch
	s.waits = false
	if b.count--; b.count == 0 {
		b.first = nil
		return
	}
	for b.first == s || !b.first.waits {
		b.first = b.first.links.Next()
	}
}

// beginBatch begins waiting requests in order of arrival, up to the limit of the turn.
func (c *h2Conn) beginBatch() {
	b := &c.batch
	for b.count > 0 && b.begun < beginsPerTurn {
		s := b.first
		c.withdraw(s)
		s.begin(b.heads[s.at : s.at+s.head])
	}
	if b.count == 0 {
		b.drop(&c.server.loop.Buffers)
	}
}

// goOn begins more waiting requests in a turn without input.
func (c *h2Conn) goOn() {
	c.busy = true
	c.beginBatch()
	c.busy = false
}

// drop releases the memory of heads without waiting requests.
func (b *batch) drop(buffers *loop.BufferPool) {
	if b.heads != nil {
		buffers.Put(b.heads)
		b.heads = nil
	}
}
