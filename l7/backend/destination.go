package backend

import "slices"

// destination holds the HTTP/2 connections to one backend.
type destination struct {
	conns         []*h2Conn // usable for new streams
	maxConcurrent int       // latest SETTINGS_MAX_CONCURRENT_STREAMS of the backend
}

const (
	// assumedStreams is the limit assumed until the backend's SETTINGS arrive: the minimum
	// that RFC 9113 section 6.5.2 recommends.
	assumedStreams = 100
	// maxConns is the number of connections to a backend from which idle ones are evicted.
	// With TLS each server name needs its own connection, and clients choose the names.
	maxConns = 64
	// maxOnce is the number of connections used by only one exchange from which these evict
	// each other. Clients can invent names.
	maxOnce = maxConns / 8
)

// remove removes a connection from the usable ones.
func (d *destination) remove(c *h2Conn) {
	if i := slices.Index(d.conns, c); i >= 0 {
		d.conns = slices.Delete(d.conns, i, i+1)
	}
}

// evict closes the connection that has been idle longest. Connections used by only one
// exchange go first while more than maxOnce exist.
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
