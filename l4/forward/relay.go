package forward

import (
	"io"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/loop"
)

const (
	// firstRead is how much is read at once from a side that has said little.
	firstRead = 64 << 10
	// bulkFrom is how much has to be there at once for a side to be spliced, and
	// bulkLeast how much for it to stay so: small messages are cheaper to copy.
	bulkFrom, bulkLeast = 32 << 10, 8 << 10
	// turnMost bounds the bytes one direction may move in a turn.
	turnMost = 1 << 20
	// turnRest is how little was spliced when a side rests until the others had
	// their turn. Bulk costs 0.95 of what it does when the rest is asked for at
	// once, mostly to hear that there is none.
	turnRest = 256 << 10
)

// relay moves bytes from src to dst until it pauses.
func (p *pair) relay(src, dst *loop.Conn) {
	l := p.w.loop
	bulk := p.bulk(src)
	more := false // dst holds bytes back
	for left := turnMost; left > 0; {
		if dst.Pending() != 0 {
			return // Drained comes back
		}
		var n int
		var err, failed error
		if *bulk {
			n, err, failed = dst.Splice(src, left)
			if err == loop.ErrNoPipe {
				*bulk = false
				continue
			}
			*bulk = n >= bulkLeast || err == loop.ErrDry
		} else if n, err = src.Read(l.In[:firstRead]); err == nil {
			if more = src.Ending(); more {
				failed = dst.WriteMore(l.In[:n]) // the end leaves with it
			} else {
				failed = dst.Write(l.In[:n])
			}
			*bulk = n >= bulkFrom
		}
		switch {
		case err == loop.ErrDry:
			if more {
				dst.Push() // it was not the end
			}
			return
		case err == io.EOF:
			p.endOfStream(src, dst)
			return
		case err != nil:
			if more {
				dst.Push() // a reset drops what is held back
			}
			p.end(p.by(src)) // a reset is passed on as one
			return
		}
		p.count(src, n)
		if failed != nil {
			p.refused(src, dst)
			return
		}
		left -= n
		if *bulk && n < turnRest {
			break // what comes meanwhile is taken after the others' turn: fewer and larger parts
		}
	}
	if more {
		dst.Push()
	}
	src.Wait()
}

// bulk tells whether a side is spliced.
func (p *pair) bulk(src *loop.Conn) *bool {
	if src == p.client {
		return &p.clientBulk
	}
	return &p.backendBulk
}

// count counts bytes that were read, and starts the idle time anew.
func (p *pair) count(src *loop.Conn, n int) {
	f, b := p.w.farm(p.farm), p.w.backend(p.to)
	if src == p.client {
		p.story.in += uint64(n)
		f.BytesIn += uint64(n)
		b.BytesOut += uint64(n)
	} else {
		p.story.out += uint64(n)
		b.BytesIn += uint64(n)
		f.BytesOut += uint64(n)
	}
	p.client.SetIdle(p.farm.idle)
}

// abandonedAfter is how long a client that said something waits at least before its end
// says something of the backend. One that only takes, as for logs, ends its own
// direction then.
const abandonedAfter = time.Second

// endOfStream passes the end of a direction on; after the second there is nothing
// left to relay.
func (p *pair) endOfStream(src, dst *loop.Conn) {
	if src == p.client {
		p.clientEnded = true
		if p.story.in > 0 && p.story.out == 0 && !p.backendEnded && p.w.loop.Now()-p.began >= int64(abandonedAfter) {
			p.w.backend(p.to).Abandoned++
		}
	} else {
		p.backendEnded = true
		p.w.backend(p.to).Ends++
	}
	if p.clientEnded && p.backendEnded { // nothing is pending: an end is read when all before it has left
		p.close()
		return
	}
	dst.CloseWrite()
}

// refused ends a pair of which one side takes nothing any more: what it said
// last, which often is its reason, is passed on first.
func (p *pair) refused(src, dst *loop.Conn) {
	if p.ending {
		p.end(p.by(dst))
		return
	}
	p.ending = true
	p.relay(dst, src) // ends with the error that dst has now
}

// by is what a record says when a side ended a connection before its end.
func (p *pair) by(side *loop.Conn) (accesslog.Flags, string) {
	if side == p.client {
		return accesslog.AbortedByClient, clientReset
	}
	return accesslog.AbortedByBackend, backendReset
}

// taking is what is left of the idle time of a pair of which nothing was read for
// as long as that, because a side takes what was read before only slowly.
func (p *pair) taking() (left int64) {
	if !p.established {
		return 0
	}
	for _, c := range [...]*loop.Conn{p.client, p.up} {
		if since, waiting := c.Taking(); waiting {
			left = max(left, p.farm.idle-since)
		}
	}
	return left
}
