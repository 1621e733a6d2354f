package forward

import (
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/session"
)

// connID is a flow's knowledge about its QUIC connection IDs.
type connID struct {
	length  uint8  // length of the backend's IDs; 0: unknown
	learned uint8  // number of IDs learned from the client
	sum     uint32 // hash of the current ID
	noted   int64  // when its use was last recorded
}

// sumOf hashes an ID, to distinguish the IDs of one connection.
func sumOf(id []byte) uint32 {
	sum := uint32(2166136261) // FNV-1a
	for _, c := range id {
		sum = (sum ^ uint32(c)) * 16777619
	}
	return sum
}

// noteAnswer learns the ID that a backend gives to the flow's connection.
func (f *flow) noteAnswer(data []byte) {
	if len(data) == 0 || data[0]&0x80 == 0 {
		return
	}
	p, ok := parseQUIC(data)
	if !ok || p.version == 0 { // version negotiation repeats the client's ID
		return
	}
	if len(p.from) >= connIDLeast {
		f.id.length = uint8(len(p.from))
	}
	f.farm.ids.learn(p.from, f.to.id, session.Now())
}

// noteUse records that the client uses an ID, and learns it if it is new.
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

// idIn returns the ID in a client's packet if the backend may have issued it. Some clients
// switch to another ID during the handshake, in packets with long headers, without notice.
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

// resume finds the backend of a known connection for a flow that begins within it.
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
