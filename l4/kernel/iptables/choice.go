package iptables

import (
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/iptables"
)

// hmarkTuple returns the packet fields an algorithm hashes, in HMARK syntax, or an empty
// string. HMARK sorts addresses and ports first (xt_HMARK.c), so the hash of all fields is
// the same in both directions.
func hmarkTuple(a farm.L4Algorithm) string {
	switch a {
	case farm.L4HashSrc:
		return "src"
	case farm.L4HashFlow:
		return "src,sport"
	case farm.L4HashSrcPt:
		return "sport"
	case farm.L4HashDst:
		return "dst"
	case farm.L4HashDstPt:
		return "dport"
	case farm.L4SymHash:
		return "src,dst,sport,dport"
	}
	return ""
}

func (g *compiledFarm) hashes() bool { return hmarkTuple(g.l4.Algorithm) != "" }

// choose adds the rules that select one of the backends for new clients.
func (g *compiledFarm) choose(c *iptables.Chain) {
	var chosen []*rules.State
	var weights []int
	total := 0
	for i := range g.states {
		s := &g.states[i]
		if !s.Chosen {
			continue
		}
		w := s.EffectiveWeight()
		if g.l4.Algorithm == farm.L4LeastConn {
			w = 10
			if known, ok := g.in.Weights[s.ID]; ok {
				w = max(1, known)
			}
		}
		chosen, weights, total = append(chosen, s), append(weights, w), total+w
	}
	if len(chosen) > 1 && g.hashes() {
		c.Add("-j HMARK --hmark-tuple %s --hmark-mod %d --hmark-offset 1 --hmark-rnd 0x5c", hmarkTuple(g.l4.Algorithm), total)
	}
	slot := 1
	for i, s := range chosen {
		to := "-j " + backendChain(s.ID)
		switch {
		case i == len(chosen)-1:
			c.Add("%s", to)
		case g.hashes():
			for range weights[i] {
				c.Add("-m mark --mark %d %s", slot, to)
				slot++
			}
		case g.l4.Algorithm == farm.L4RoundRobin:
			c.Add("-m statistic --mode nth --every %d --packet 0 %s", len(chosen)-i, to)
		default:
			c.Add("-m statistic --mode random --probability %.8f %s", float64(weights[i])/float64(total), to)
			total -= weights[i]
		}
	}
}

// key matches packets of a farm.
type key struct {
	text      string
	precise   int // 0 single port, 1 range, 2 all
	transport farm.L4Protocol
}

// matches returns the keys of the farm.
func (g *compiledFarm) matches() (out []key) {
	to := "-d " + g.farm.VIP.Unmap().String()
	if g.farm.VIP.IsUnspecified() {
		to = "-m addrtype --dst-type LOCAL"
	}
	list := rules.Transports(g.l4.Protocol)
	if list == nil {
		return []key{{to, 2, farm.L4All}}
	}
	for _, p := range list {
		if len(g.l4.Ports) == 0 {
			out = append(out, key{fmt.Sprintf("%s -p %s", to, p), 2, p})
		}
		for _, r := range g.l4.Ports {
			precise := 0
			if r.First != r.Last {
				precise = 1
			}
			out = append(out, key{fmt.Sprintf("%s -p %s -m %s --dport %s", to, p, p, r), precise, p})
		}
	}
	return out
}

// keys adds rules that send packets of the farm to its chain.
func (g *compiledFarm) keys() {
	for _, k := range g.matches() {
		g.dispatch[k.precise] = append(g.dispatch[k.precise], fmt.Sprintf("%s -j %s", k.text, g.farmChain()))
	}
}
