package firewall

import (
	"errors"
	"fmt"
	"net/netip"
)

// Destination is a backend to which the kernel forwards packets of a farm.
type Destination struct {
	// Marked is true for packets that carry the mark themselves (stateless_dnat).
	Marked   bool
	Protocol string // "tcp", "udp" or "sctp"
	// Addr has port 0 if backends get the port that the client uses.
	Addr netip.AddrPort
}

func (d Destination) listener() Listener {
	l := Listener{Network: d.Protocol, Addr: d.Addr, path: rewritten}
	if d.Marked {
		l.path = untracked
	}
	return l
}

func (d Destination) String() string {
	if d.Addr.Port() == 0 {
		return d.Addr.Addr().String() + " (" + d.Protocol + ")"
	}
	return d.Addr.String() + " (" + d.Protocol + ")"
}

// Blocked returns, by ID, the farms with a backend whose packets a rule of a foreign
// firewall certainly drops, e.g. "tcp dport 8080 drop" before the rule that accepts
// packets of farms. Each sentence names a chain, a backend and the rule that its owner may
// add. A rule that is not understood suppresses the sentence. Chains that drop all packets
// of farms are left to Keep, which must have been called before. Nothing is changed.
func Blocked(farms map[uint32][]Destination, mark, mask uint32) (map[uint32][]string, error) {
	if len(farms) == 0 {
		return nil, nil
	}
	hooks, err := hooks("forward")
	problems := []error{err}
	out := map[uint32][]string{}
	for i := range hooks {
		h := blocking{hook: &hooks[i], mark: mark, mask: mask, known: map[Destination]bool{}, closed: map[Packets]bool{}}
		for id, all := range farms {
			if text := h.says(all); text != "" {
				out[id] = append(out[id], text)
			}
		}
	}
	return out, errors.Join(problems...)
}

// blocking evaluates a chain for destinations and remembers the results.
type blocking struct {
	*hook
	mark, mask uint32
	known      map[Destination]bool
	closed     map[Packets]bool // kinds of packets that the chain drops anyway
}

func (b *blocking) drops(d Destination) bool {
	is, known := b.known[d]
	if !known {
		is = b.hook.drops(d.listener()) && !b.closes(Packets{d.Marked, !d.Addr.Addr().Is4(), d.Protocol})
		b.known[d] = is
	}
	return is
}

func (b *blocking) closes(p Packets) bool {
	is, known := b.closed[p]
	if !known && b.native != nil {
		is = b.native(farmPacket{p, b.mark, b.mask})
		b.closed[p] = is
	}
	return is
}

// says returns a sentence about the destinations that the chain drops, or "".
func (b *blocking) says(all []Destination) string {
	var first Destination
	n := 0
	for _, d := range all {
		if b.drops(d) {
			if n == 0 {
				first = d
			}
			n++
		}
	}
	more := ""
	switch n {
	case 0:
		return ""
	case 1:
	case 2:
		more = " and to another backend or protocol"
	default:
		more = fmt.Sprintf(" and to %d other backends or protocols", n-1)
	}
	return fmt.Sprintf("%s drops its packets to %s%s: a rule such as %q is missing before the rule that drops them", b.name, first, more, b.accept(first.Marked))
}

// accept returns the rule that accepts packets of farms.
func (b *blocking) accept(marked bool) string {
	if b.native != nil {
		return fmt.Sprintf("%s mark and %#x == %#x accept", Packets{Marked: marked}.markKind(), b.mask, b.mark)
	}
	match := "connmark"
	if marked {
		match = "mark"
	}
	return fmt.Sprintf("-I %s -m %s --mark %#x/%#x -j ACCEPT", b.base, match, b.mark, b.mask)
}
