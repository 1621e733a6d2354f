package table

import (
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rewrite"
)

// Outgoing is the request head for a backend.
//
// A farm may set Host to the backend's own address. The backend can still change after the
// head is written, so the head has holes that are filled for each attempt.
type Outgoing struct {
	Undo rewrite.Undo // reverses the path rewriting; its memory is reused
	// holes are the offsets for the backend's address; 0 means none. While the head is
	// written, tail is the number of bytes after the hole in Destination.
	holes [2]int
	tail  int
}

// Told is information for backends in addition to the client's request.
type Told struct {
	Proto       []byte // scheme of the request: ProtoHTTP or ProtoHTTPS
	Certificate []byte // field lines about the client certificate
	ID          []byte // request ID; may be empty
}

// Invites reports whether the client waits for a 100 Continue that the appliance sends. The
// backend then gets no Expect.
func (q *Query) Invites() bool {
	if !q.Req.Expect100 || q.Farm.Limits.Expect != ExpectIgnore {
		return false
	}
	q.Req.DropExpect()
	return true
}

// Revise identifies the client and applies the service's rules to the request head. Sessions
// use the client's original fields, before the rules.
func (o *Outgoing) Revise(q *Query, s *Service, c *Choice, told *Told) error {
	h := &q.Req.Head
	q.forward = http1.Forward{ClientIP: q.peer(), Proto: told.Proto}
	rules := s.Request
	if rules != nil {
		q.Scratch.Reset()
		rules.strip(h, q.Scratch)
		q.forward.Extra, q.forward.Given = rules.Add, rules.given
	}
	c.identify(q, s)
	if s.Auth != nil {
		s.Auth.strip(h)
	}
	for _, other := range q.passed {
		if other.Auth != nil {
			other.Auth.strip(h)
		}
	}
	if rules != nil {
		if err := rules.edit(h, q.Scratch); err != nil {
			return err
		}
	}
	if s.urls != nil {
		if err := o.rewritePath(q, s); err != nil {
			return err
		}
	}
	if len(q.Req.Host) == 0 {
		q.forward.Host = q.Farm.hostField // HTTP/1.0 without Host: HTTP/1.1 requires one
	}
	o.tell(q, s, told)
	return nil
}

// rewritePath applies the service's path rules. The result is parsed like a client's path
// and refused by the same rules.
func (o *Outgoing) rewritePath(q *Query, s *Service) error {
	r := q.Req
	if r.Path[0] != '/' {
		return nil // OPTIONS *
	}
	if s.Request == nil {
		q.Scratch.Reset()
	}
	var observe func(rule int, path []byte)
	if q.Trail != nil {
		observe = q.Trail.rewritten
	}
	path, changed, err := s.urls.Rewrite(r.Path, q.Scratch, observe)
	if !changed || err != nil {
		return err
	}
	if s.Locate.paths {
		q.Text = append(q.Text[:0], r.Path...)
	}
	if err := r.Retarget(path); err != nil {
		return err
	}
	if s.Locate.paths {
		o.Undo.Learn(q.Text, r.Path)
	}
	return nil
}

// tell adds the information for backends.
func (o *Outgoing) tell(q *Query, s *Service, told *Told) {
	f := q.Farm
	if len(told.Certificate)+len(told.ID) > 0 {
		q.extra = append(append(q.extra[:0], q.forward.Extra...), told.Certificate...)
		if len(told.ID) > 0 {
			RemoveIDs(&q.Req.Head)
			q.extra = AppendIDLine(q.extra, told.ID)
		}
		q.forward.Extra = q.extra
	}
	if f.destination {
		o.leaveDestination(q, s) // last, because it records the distance of the hole from the end of the head
	}
	if f.proxyHost {
		q.forward.Host = noHost
	}
}

var noHost = []byte{}

// leaveDestination moves Destination to the end of the head if it names the farm, with the
// scheme and Host used for the backend, because WebDAV servers refuse any other. If Host is
// the backend's own address, a hole is left for it.
func (o *Outgoing) leaveDestination(q *Query, s *Service) {
	r := q.Req
	i := r.Lookup("destination")
	if i < 0 {
		return
	}
	scheme, authority, path := CutURL(r.Value(i))
	if len(authority) == 0 || !SameHost(authority, r.Host) && !Names(scheme, authority, q.Farm.Origin) {
		return
	}
	scheme = ProtoHTTP
	if s.TLS != nil {
		scheme = ProtoHTTPS
	}
	if len(q.extra) == 0 || len(q.forward.Extra) == 0 || &q.forward.Extra[0] != &q.extra[0] {
		q.extra = append(q.extra[:0], q.forward.Extra...)
	}
	q.extra = append(append(append(q.extra, "Destination: "...), scheme...), "://"...)
	switch {
	case q.Farm.proxyHost:
		o.tail = len(path) + len("\r\n\r\n") // bytes from the hole to the end of the head
	case len(r.Host) > 0:
		q.extra = append(q.extra, r.HostSent...)
	default:
		q.extra = append(q.extra, q.Farm.hostField...)
	}
	q.extra = append(append(q.extra, path...), "\r\n"...)
	q.forward.Extra = q.extra
	r.Remove(i)
}

// Append appends the head.
func (o *Outgoing) Append(dst []byte, q *Query) []byte {
	r := q.Req
	out := http1.AppendRequest(dst, r, &q.forward)
	if q.Farm.proxyHost { // it was written with an empty Host
		o.holes[0] = r.Method.Len() + len(" ") + len(r.Sent) + len(" HTTP/1.1\r\nHost: ")
	}
	if o.tail > 0 {
		o.holes[1] = len(out) - o.tail
	}
	return out
}

// Address fills the holes for a backend. Without holes it returns head itself, otherwise a
// copy in scratch.
func (o *Outgoing) Address(scratch *[]byte, head []byte, b *Backend) []byte {
	if o.holes == [2]int{} {
		return head
	}
	out, from := (*scratch)[:0], 0
	for _, hole := range o.holes {
		if hole > 0 {
			out = append(append(out, head[from:hole]...), b.host...)
			from = hole
		}
	}
	out = append(out, head[from:]...)
	*scratch = out
	return out
}
