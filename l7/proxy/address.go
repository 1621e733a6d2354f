package proxy

import (
	"bytes"

	"github.com/sluicelb/sluice/l7/table"
)

// Where a farm says so, backends get their own address as Host, and in the
// Destination of WebDAV requests. Which backend it is may change after the head
// was written, so the head is kept with holes, and each sending fills them.

var noHost = []byte{}

// addressing prepares the request at hand for the backend's own address.
func (ex *exchange) addressing() {
	w, f := ex.w, ex.farm
	if f.Destination {
		ex.leaveDestination()
	}
	if f.ProxyHost {
		w.forward.Host = noHost
	}
}

// leaveDestination puts the Destination, if it names the farm, at the end of
// the head without its authority.
func (ex *exchange) leaveDestination() {
	w := ex.w
	r := &w.req
	i := r.Lookup("destination")
	if i < 0 {
		return
	}
	scheme, authority, path := cutURL(r.Value(i))
	if len(authority) == 0 || !bytes.EqualFold(table.WithoutPort(authority), table.WithoutPort(r.Host)) && !names(scheme, authority, ex.farm.Origin) {
		return
	}
	scheme = protoHTTP
	if ex.service.TLS != nil {
		scheme = protoHTTPS
	}
	w.extra = append(w.extra[:0], w.forward.Extra...)
	w.extra = append(append(append(w.extra, "Destination: "...), scheme...), "://"...)
	ex.tail = len(path) + len("\r\n\r\n") // bytes from the hole to the end of the head
	w.extra = append(append(w.extra, path...), "\r\n"...)
	w.forward.Extra = w.extra
	r.Remove(i)
}

// mark notes where the holes of a head are: it was written with an empty Host
// where that is the backend's.
func (ex *exchange) mark(head []byte) {
	r := &ex.w.req
	if ex.farm.ProxyHost {
		ex.holes[0] = r.Method.Len() + len(" ") + len(r.Path) + len(" HTTP/1.1\r\nHost: ")
	}
	if ex.tail > 0 {
		ex.holes[1] = len(head) - ex.tail
	}
}

// address fills the holes of a head for the chosen backend; without holes it
// gives b itself.
func (ex *exchange) address(b []byte) []byte {
	if ex.holes == [2]int{} {
		return b
	}
	out, from := ex.w.addressed[:0], 0
	for _, hole := range ex.holes {
		if hole > 0 {
			out = append(append(out, b[from:hole]...), ex.backend.Host...)
			from = hole
		}
	}
	out = append(out, b[from:]...)
	ex.w.addressed = out
	return out
}
