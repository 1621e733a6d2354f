package backend

import "slices"

// destination is the connections of HTTP/2 to one backend.
type destination struct {
	conns         []*h2Conn // those that take streams
	maxConcurrent int       // streams at once on one, as the backend said last
}

const (
	// assumedStreams is how many streams a backend is believed to allow before
	// it has said so: the least it should (RFC 9113 section 6.5.2).
	assumedStreams = 100
	// maxConns is how many connections to a backend there may be before idle
	// ones give way. With TLS each name that is asked for has its own, and
	// clients choose names.
	maxConns = 64
	// maxOnce is how many of these may be such that one exchange used, before
	// they give way to each other: names can be invented.
	maxOnce = maxConns / 8
)

// remove takes a connection out of the list of those that take streams.
func (d *destination) remove(c *h2Conn) {
	if i := slices.Index(d.conns, c); i >= 0 {
		d.conns = slices.Delete(d.conns, i, i+1)
	}
}

// evict lets the connection go that has been idle for longest; of those that only
// one exchange used, as long as there are some.
func (d *destination) evict() {
	var oldest, once *h2Conn
	invented := 0
	for _, c := range d.conns {
		often := c.exchanges > 1
		if !often {
			invented++
		}
		switch {
		case !c.established || c.streams.Len() > 0:
		case often && (oldest == nil || c.idleSince < oldest.idleSince):
			oldest = c
		case !often && (once == nil || c.idleSince < once.idleSince):
			once = c
		}
	}
	if once != nil && (oldest == nil || invented > maxOnce) {
		oldest = once
	}
	if oldest != nil {
		oldest.shutdown()
	}
}
