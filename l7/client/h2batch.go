package client

import "github.com/sluicelb/sluice/core/loop"

// batch is the requests of a connection that have come and wait to be begun. What
// was read together is looked at as a whole first: a stream that is taken back,
// or breaks a rule, right behind its head has cost no more than that (rapid reset,
// CVE-2023-44487; MadeYouReset, CVE-2025-8671). A request that nothing came behind
// never waits.
type batch struct {
	heads []byte  // of the requests, one behind the other; pooled
	first *stream // that waits
	count int     // of those that wait
	begun int     // requests, in this turn
}

const (
	// beginsPerTurn bounds how many requests of one connection are begun before
	// others have their turn: each may mean a connection to a backend, some 20 µs.
	beginsPerTurn = 32
	// framesPerTurn is after how many frames of one connection no more is read
	// before others have had theirs.
	framesPerTurn = 512
)

// postpone lets a request wait until what was read with it has been looked at.
func (c *h2Conn) postpone(s *stream, head []byte) {
	b := &c.batch
	s.waits, s.at = true, len(b.heads)
	b.heads = append(c.server.loop.Buffers.Grow(b.heads, len(head)), head...)
	if b.count++; b.count == 1 {
		b.first = s
	}
}

// withdraw takes out a request that waits no more.
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

// beginBatch begins requests that wait, in the order they came and as many as
// the turn may.
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

// goOn begins more of the requests that wait, in a turn that brought no bytes.
func (c *h2Conn) goOn() {
	c.busy = true
	c.beginBatch()
	c.busy = false
}

// drop gives back the memory of heads nobody waits with.
func (b *batch) drop(buffers *loop.BufferPool) {
	if b.heads != nil {
		buffers.Put(b.heads)
		b.heads = nil
	}
}
