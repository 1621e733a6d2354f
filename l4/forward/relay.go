package forward

import (
	"io"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/loop"
)

const (
	// firstRead is the size of a read from a side with little data.
	firstRead = 64 << 10
	// bulkFrom is the available amount from which a side is spliced, and bulkLeast the amount
	// below which splicing ends. Small messages are cheaper to copy.
	bulkFrom, bulkLeast = 32 << 10, 8 << 10
	// turnMost bounds the bytes moved in one direction per loop turn.
	turnMost = 1 << 20
	// turnRest is the spliced amount below which a side waits for the next turn. Bulk
	// transfers cost 5 % more if the rest is requested at once, which mostly yields no data.
	turnRest = 256 << 10
)

// relay moves bytes from src to dst until it pauses.
func (p *pair) relay(src, dst *loop.Conn) {
	l := p.w.loop
	bulk := p.bulk(src)
	more := false // dst holds bytes back
	for left := turnMost; left > 0; {
		if dst.Pending() != 0 {
			return // Drained continues
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
				failed = dst.WriteMore(l.In[:n]) // the FIN leaves with it
			} else {
				failed = dst.Write(l.In[:n])
			}
			*bulk = n >= bulkFrom
		}
		switch {
		case err == loop.ErrDry:
			if more {
				dst.Push() // the end has not come: send the held data
			}
			return
		case err == io.EOF:
			p.endOfStream(src, dst)
			return
		case err != nil:
			if more {
				dst.Push() // a reset drops bytes held back
			}
			p.end(p.by(src)) // a reset is passed on as a reset
			return
		}
		p.count(src, n)
		if failed != nil {
			p.refused(src, dst)
			return
		}
		left -= n
		if *bulk && n < turnRest {
			break // later data is read in the next turn, in fewer and larger parts
		}
	}
	if more {
		dst.Push()
	}
	src.Wait()
}

// bulk returns the flag that tells whether a side is spliced.
func (p *pair) bulk(src *loop.Conn) *bool {
	if src == p.client {
		return &p.clientBulk
	}
	return &p.backendBulk
}

// count counts bytes read and restarts the idle time.
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

// abandonedAfter is the minimum time a client with sent data must wait before its end counts
// against the backend. A client of a pure receiver, e.g. for logs, half-closes earlier.
const abandonedAfter = time.Second

// endOfStream passes a half-close on. After the second one the pair is complete.
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
	if p.clientEnded && p.backendEnded { // the last data before an end leaves before the end is read, so none is pending
		p.close()
		return
	}
	dst.CloseWrite()
}

// refused ends a pair after one side stopped accepting data. That side's last data, which is
// often the reason, is passed on first.
func (p *pair) refused(src, dst *loop.Conn) {
	if p.ending {
		p.end(p.by(dst))
		return
	}
	p.ending = true
	p.relay(dst, src) // ends with dst's current error
}

// by returns the flags and reason of a premature end by one side.
func (p *pair) by(side *loop.Conn) (accesslog.Flags, string) {
	if side == p.client {
		return accesslog.AbortedByClient, clientReset
	}
	return accesslog.AbortedByBackend, backendReset
}

// taking returns the rest of the idle time of a pair without reads, if a side is still
// reading earlier data slowly.
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
