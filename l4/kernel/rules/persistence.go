package rules

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// memory describes how a farm recognises returning clients.
type memory struct {
	*SessionMap
	static string // map of static sessions, or empty
	key    string // the packet's fields
	mark   string // the mark that holds the backend
	ttl    farm.Seconds
}

// memory adds the farm's session maps, and returns nil without persistence.
func (g *compiledFarm) memory(mark string) (*memory, error) {
	m := &memory{SessionMap: Sessions(g.farm), mark: mark, ttl: max(1, g.l4.TTL)}
	if m.SessionMap == nil {
		return nil, nil
	}
	static := map[string]nft.Element{}
	for i := range g.states {
		s := &g.states[i]
		for _, client := range s.Sessions {
			key, err := SessionKey(g.l4.Persist, g.farm.VIP, client)
			if err != nil {
				return nil, fmt.Errorf("session %q of backend %d: %w", client, s.ID, err)
			}
			static[key] = nft.Element{Value: MarkText(s.ID), Owner: g.farm.ID}
		}
	}
	var key []string
	for _, x := range parts(g.l4.Persist, g.family) {
		key = append(key, x.of)
	}
	m.key = strings.Join(key, " . ")
	m.add(g.rules)
	if len(static) > 0 {
		m.static = "static" + strings.TrimPrefix(m.ID.Name, "session")
		g.rules.SetOf(nft.ID{Table: m.ID.Table, Name: m.static}, func() *nft.Set {
			return &nft.Set{Type: m.kind, Data: "mark", Owner: g.farm.ID, Elements: static}
		})
	}
	return m, nil
}

// element returns the key of a packet's session in the map.
func (m *memory) element() string {
	if m.Clients == nil {
		return m.key
	}
	return "jhash " + m.key + " " + hashes
}

// lookup sets the mark of the client's session, if any, and delivers. Static sessions have
// priority. refresh ends the rule that finds a dynamic one.
func (m *memory) lookup(refresh, deliver string) (out []string) {
	set := m.mark + " set "
	if m.static != "" {
		out = append(out, set+m.key+" map @"+m.static, deliver)
	}
	of := m.key
	if m.Clients != nil {
		out, of = append(out, set+m.element()), m.mark
	}
	return append(out, strings.TrimSpace(set+of+" map @"+m.ID.Name+" "+refresh), deliver)
}

// remember adds or renews the session of a packet.
func (m *memory) remember(verb string) string {
	rule := fmt.Sprintf("%s @%s { %s timeout %ds : %s }", verb, m.ID.Name, m.element(), m.ttl, m.mark)
	if m.Clients != nil {
		rule += fmt.Sprintf(" update @%s { %s timeout %ds }", m.ClientsID.Name, m.key, m.ttl)
	}
	return rule
}

// forget deletes the session of a packet: adding one would keep an old one whose backend is
// not usable.
func (m *memory) forget() string {
	return fmt.Sprintf("delete @%s { %s : %s }", m.ID.Name, m.element(), m.mark)
}

// persistence is the memory of a farm with tracked connections.
type persistence struct{ *memory }

// persistence adds the farm's session maps, and returns nil without persistence.
func (g *compiledFarm) persistence() (*persistence, error) {
	m, err := g.memory("ct mark")
	if m == nil {
		return nil, err
	}
	p := &persistence{m}
	refresh := p.remember("update")
	if m.Clients == nil {
		refresh = p.key + " @" + p.ID.Name + " " + refresh // deleted sessions are not added again
	}
	g.chain(refreshChain(g.farm.ID)).Rules = []string{refresh}
	return p, nil
}

// lookup sends known clients to their backend and renews their session.
func (p *persistence) lookup(deliver string) []string {
	return p.memory.lookup(p.remember("update"), deliver)
}

// learn stores the choice.
func (p *persistence) learn() []string { return []string{p.forget(), p.remember("add")} }

// packetSessions is the memory of a farm of packet modes, used for new flows. Existing flows
// keep their backend anyway.
type packetSessions struct{ *memory }

// packetSessions adds the farm's session maps, and returns nil without persistence.
func (p *packetFarm) packetSessions() (*packetSessions, error) {
	m, err := p.memory("meta mark")
	if m == nil {
		return nil, err
	}
	return &packetSessions{m}, nil
}

// lookup sends known clients to their backend and deletes a session whose backend is not
// usable.
func (s *packetSessions) lookup(deliver string) []string {
	return append(s.memory.lookup("", deliver), s.forget())
}

// learn adds the session.
func (s *packetSessions) learn() string { return s.remember("update") }

// touch renews the session if it exists. Deleted sessions are not added again, and clients
// with a static session need none.
func (s *packetSessions) touch() string {
	known := s.ID
	if s.Clients != nil {
		known = s.ClientsID
	}
	return s.key + " @" + known.Name + " " + s.learn()
}
