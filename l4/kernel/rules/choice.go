package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// body returns the rules of the farm's chain.
func (g *compiledFarm) body(persist *persistence) []string {
	var out []string
	if g.l4.Logs {
		out = append(out, g.log())
	}
	if g.l4.MaxConnections > 0 {
		g.rules.SetOf(Held(), FullSet)
		g.count("over", nft.Mark(farmMark(g.farm.ID)), g.l4.MaxConnections)
	}
	chosen := g.chosen()
	if len(chosen) == 0 && persist == nil {
		return append(out, "goto refuse")
	}
	if g.l4.MaxConnections > 0 {
		mark := nft.Mark(farmMark(g.farm.ID))
		out = append(out, "ct mark set "+mark, "ct mark @held goto refuse", "ct mark @over goto refuse")
	}
	out = append(out, g.helpers()...)
	if g.limited() {
		return append(out, (&bounded{g, g.withSpares(), persist}).body()...)
	}
	deliver := "jump deliver" + g.family.digit
	if persist != nil {
		out = append(out, persist.lookup(deliver)...)
	}
	if len(chosen) > 0 {
		out = append(out, g.choose(chosen)...)
		if persist != nil {
			out = append(out, persist.learn()...)
		}
		out = append(out, deliver)
	}
	return append(out, "goto refuse")
}

// choose returns the rules that set the mark of one of the backends.
func (g *compiledFarm) choose(chosen []*State) []string {
	if len(chosen) == 1 || g.l4.Algorithm == farm.L4Priority {
		return []string{"ct mark set " + MarkText(chosen[0].ID)}
	}
	by, shares := "", g.shares(chosen)
	ip := g.family.ip
	switch g.l4.Algorithm {
	case farm.L4RoundRobin:
		by, shares = "numgen inc mod %d", slices.Repeat([]int{1}, len(chosen))
	case farm.L4HashSrc:
		by = "jhash " + ip + " saddr mod %d seed 0x5c"
	case farm.L4HashFlow:
		by = "jhash " + ip + " saddr . th sport mod %d seed 0x5c"
	case farm.L4HashSrcPt:
		by = "jhash th sport mod %d seed 0x5c"
	case farm.L4HashDst:
		by = "jhash " + ip + " daddr mod %d seed 0x5c"
	case farm.L4HashDstPt:
		by = "jhash th dport mod %d seed 0x5c"
	case farm.L4SymHash:
		by = "symhash mod %d"
	default:
		by = "numgen random mod %d"
	}
	if hashing(g.l4.Algorithm) {
		n, text := slots(chosen, shares)
		return []string{fmt.Sprintf("ct mark set "+by+" map { %s }", n, text)}
	}
	var b strings.Builder
	slot := 0
	for i, s := range chosen {
		for range shares[i] {
			if slot > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%d : %s", slot, MarkText(s.ID))
			slot++
		}
	}
	return []string{fmt.Sprintf("ct mark set "+by+" map { %s }", slot, b.String())}
}

// shares returns the weights, divided by their common divisor.
func (g *compiledFarm) shares(chosen []*State) []int {
	out := make([]int, len(chosen))
	for i, s := range chosen {
		out[i] = s.EffectiveWeight()
		if g.l4.Algorithm == farm.L4LeastConn {
			out[i] = 10
			if w, known := g.in.Weights[s.ID]; known {
				out[i] = max(1, w)
			}
		}
	}
	divisor := 0
	for _, w := range out {
		for a, b := divisor, w; ; a, b = b, a%b {
			if b == 0 {
				divisor = a
				break
			}
		}
	}
	for i := range out {
		out[i] /= divisor
	}
	return out
}

// maxPrefix is the kernel's limit in bytes (NF_LOG_PREFIXLEN without the terminator).
const maxPrefix = 127

// log returns the rule that logs new connections, with a rate limit.
func (g *compiledFarm) log() string {
	limit, prefix := g.l4.LogLimit, LogPrefix(g.farm)
	if limit == 0 {
		limit = farm.DefaultL4LogLimit
	}
	if len(prefix) > maxPrefix {
		prefix = prefix[:maxPrefix]
	}
	return fmt.Sprintf("limit rate %d/second burst %d packets log prefix %q level info", limit, max(limit, 5), prefix)
}

// LogPrefix returns the prefix of the farm's log lines. It contains nothing that could end
// the quoted text.
func LogPrefix(f *farm.Farm) string {
	prefix := f.L4.LogPrefix
	if prefix == "" {
		prefix = "l4:" + f.Name + " "
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' || r == '$' {
			return '_'
		}
		return r
	}, prefix)
}
