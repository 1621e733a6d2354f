package forward

import (
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/session"
)

// connID is what a flow knows of its connection's id.
type connID struct {
	length  uint8  // of the ids its backend gives; 0: not known
	learned uint8  // how many the client showed
	sum     uint32 // of the one in use
	noted   int64  // when that was last
}

// sumOf tells ids apart that one backend has given to one client.
func sumOf(id []byte) uint32 {
	sum := uint32(2166136261) // FNV-1a
	for _, c := range id {
		sum = (sum ^ uint32(c)) * 16777619
	}
	return sum
}

// noteAnswer learns the id a backend gives to the connection of a flow.
func (f *flow) noteAnswer(data []byte) {
	if len(data) == 0 || data[0]&0x80 == 0 {
		return
	}
	p, ok := parseQUIC(data)
	if !ok || p.version == 0 { // version negotiation repeats an id of the client's
		return
	}
	if len(p.from) >= connIDLeast {
		f.id.length = uint8(len(p.from))
	}
	f.farm.ids.learn(p.from, f.to.id, session.Now())
}

// noteUse notes that the client of a flow uses an id, and learns it if it is a
// new one.
func (f *flow) noteUse(data []byte) {
	id, now := f.idIn(data), f.last
	if id == nil {
		return
	}
	switch sum := sumOf(id); {
	case sum != f.id.sum:
		if f.state == asked || f.id.learned == connIDsEach {
			return
		}
		f.id.sum = sum
		f.id.learned++
	case now-f.id.noted < connIDRenew:
		return
	}
	f.id.noted = now
	f.farm.ids.learn(id, f.to.id, session.Now())
}

// idIn is the id a client's packet is for, if it can be one its backend gave.
// There are clients that begin to use another one while the handshake goes on,
// in packets with long headers, and nobody tells when they move.
func (f *flow) idIn(data []byte) []byte {
	n := int(f.id.length)
	if n == 0 || len(data) <= n {
		return nil
	}
	if data[0]&0x80 == 0 {
		return data[1 : 1+n]
	}
	if p, ok := parseQUIC(data); ok && len(p.to) == n {
		return p.to
	}
	return nil
}

// resume finds the backend of a connection that is known, for a flow that begins
// in the middle of it.
func (f *flow) resume(data []byte) (choice, bool) {
	p, ok := parseQUIC(data)
	if !ok {
		return choice{}, false
	}
	backend, length, ok := f.farm.ids.find(&p, session.Now())
	if !ok {
		return choice{}, false
	}
	f.id.length = uint8(length)
	return f.farm.claim(f.farm.on(&f.farm.group, virtual(f.at.port.Listener)), backend, balance.Tried{})
}
