package iptables

import (
	"strconv"
	"strings"
)

// Count is what a rule counted.
type Count struct {
	Chain          string
	Rule           string // as iptables-save writes it, without "-A CHAIN"
	Packets, Bytes uint64
}

// parseCounted reads the rules in chains of ours from what iptables-save -c
// prints: "[12:3456] -A SLUICE-B7 -j …".
func parseCounted(text string) (out []Count) {
	for line := range strings.SplitSeq(text, "\n") {
		counts, rule, ok := strings.Cut(line, "] -A ")
		packets, bytes, both := strings.Cut(strings.TrimPrefix(counts, "["), ":")
		chain, rest, _ := strings.Cut(rule, " ")
		if !ok || !both || !own(chain) {
			continue
		}
		c := Count{Chain: chain, Rule: rest}
		var errs [2]error
		c.Packets, errs[0] = strconv.ParseUint(packets, 10, 64)
		c.Bytes, errs[1] = strconv.ParseUint(bytes, 10, 64)
		if errs[0] == nil && errs[1] == nil {
			out = append(out, c)
		}
	}
	return out
}
