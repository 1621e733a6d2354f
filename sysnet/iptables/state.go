package iptables

import (
	"maps"
	"slices"
	"strings"
)

// state holds our chains and jumps in the kernel.
type state struct{ tables map[string]*part }

// part holds our chains and jumps in one table.
type part struct {
	chains []string
	hooks  []Hook
}

func (s *state) table(name string) *part {
	if p := s.tables[name]; p != nil {
		return p
	}
	return &part{}
}

// names returns the tables with chains or jumps of ours, sorted.
func (s *state) names() []string { return slices.Sorted(maps.Keys(s.tables)) }

// parseSaved parses the output of iptables-save. It ignores lines about foreign chains.
func parseSaved(text string) *state {
	s := &state{tables: map[string]*part{}}
	table := ""
	at := func() *part {
		if s.tables[table] == nil {
			s.tables[table] = &part{}
		}
		return s.tables[table]
	}
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0][0] == '*':
			table = words[0][1:]
		case words[0][0] == ':' && own(words[0][1:]):
			if p := at(); !slices.Contains(p.chains, words[0][1:]) {
				p.chains = append(p.chains, words[0][1:])
			}
		case words[0] == "-A" && len(words) > 3 && !own(words[1]):
			if to := words[len(words)-1]; own(to) && strings.Join(words[2:], " ") == hook(to) {
				p := at()
				p.hooks = append(p.hooks, Hook{words[1], to})
			}
		}
	}
	return s
}

// own reports whether the chain is ours. Foreign chains may have names with the same
// beginning.
func own(name string) bool { return name == prefix() || strings.HasPrefix(name, prefix()+"-") }

// ownLine reports whether a rule, in the format of iptables-save, is in a chain of ours
// or jumps to one.
func ownLine(line string) bool {
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "-A" {
		return false
	}
	to := words[len(words)-1]
	return own(words[1]) || own(to) && strings.Join(words[2:], " ") == hook(to)
}
