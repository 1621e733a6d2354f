package iptables

import (
	"strconv"
	"strings"
)

// Count holds the counters of a rule.
type Count struct {
	Chain          string
	Rule           string // in the format of iptables-save, without "-A CHAIN"
	Packets, Bytes uint64
}

// parseCounted parses the rules in our chains from the output of iptables-save -c:
// "[12:3456] -A SLUICE-B7 -j …".
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
