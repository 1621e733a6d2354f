package proxy

import "github.com/sluicelb/sluice/core/loop"

// batch is the requests of a multiplex that have come and wait to be begun. What
// was read together is looked at as a whole first: a stream that is taken back,
// or breaks a rule, right behind its head has cost no more than that (rapid reset,
// CVE-2023-44487; MadeYouReset, CVE-2025-8671). A request that nothing came behind
// never waits.
type batch struct {
	heads []byte  // of the requests, one behind the other; pooled
	first *client // that waits
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
func (m *multiplex) postpone(cl *client, head []byte) {
	b := &m.batch
	cl.stream.waits, cl.stream.at = true, len(b.heads)
	b.heads = append(m.w.loop.Buffers.Grow(b.heads, len(head)), head...)
	if b.count++; b.count == 1 {
		b.first = cl
	}
}

// withdraw takes out a request that waits no more.
func (m *multiplex) withdraw(cl *client) {
	b := &m.batch
	cl.stream.waits = false
	if b.count--; b.count == 0 {
		b.first = nil
		return
	}
	for b.first == cl || !b.first.stream.waits {
		b.first = b.first.stream.links.Next()
	}
}

// beginBatch begins requests that wait, in the order they came and as many as
// the turn may.
func (m *multiplex) beginBatch() {
	b := &m.batch
	for b.count > 0 && b.begun < beginsPerTurn {
		cl := b.first
		st := cl.stream
		m.withdraw(cl)
		m.begin(cl, b.heads[st.at:st.at+st.head])
	}
	if b.count == 0 {
		b.drop(&m.w.loop.Buffers)
	}
}

// goOn begins more of the requests that wait, in a turn that brought no bytes.
func (m *multiplex) goOn() {
	m.busy = true
	m.beginBatch()
	m.busy = false
}

// drop gives back the memory of heads nobody waits with.
func (b *batch) drop(buffers *loop.BufferPool) {
	if b.heads != nil {
		buffers.Put(b.heads)
		b.heads = nil
	}
}
