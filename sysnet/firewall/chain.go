package firewall

import (
	"slices"
	"strings"

	"github.com/sluicelb/sluice/sysnet/claim"
)

const (
	forward    = "FORWARD"
	input      = "INPUT"
	dockerUser = "DOCKER-USER"
)

// tag returns the comment by which rules of this instance are recognized.
func tag() string { return claim.Own().Table() + "-farms" }

// rule is one parsed line of `iptables -S`, limited to the properties used here.
type rule struct {
	line string
	// general is true if the only conditions are interfaces. Firewalls with zones repeat
	// their final verdict once per interface.
	general bool
	// always is true if the rule has no condition at all.
	always bool
	// target is the argument of -j or -g; empty for a rule that only counts.
	target string
	ours   bool
}

// chain is the parsed output of `iptables -S CHAIN`.
type chain struct {
	policy string // built-in chains only
	rules  []rule
}

func parseChain(lines []string) chain {
	var c chain
	for _, l := range lines {
		words := split(l)
		switch {
		case len(words) >= 3 && words[0] == "-P":
			c.policy = words[2]
		case len(words) >= 2 && words[0] == "-A":
			c.rules = append(c.rules, parseRule(l, words[2:]))
		}
	}
	return c
}

// parseRule parses the words after "-A CHAIN". It ignores the options of the target.
func parseRule(line string, words []string) rule {
	r := rule{line: line, general: true, always: true}
	for i := 0; i < len(words); i++ {
		value := ""
		if i+1 < len(words) {
			value = words[i+1]
		}
		switch w := words[i]; {
		case w == "-j" || w == "-g":
			r.target = value
			return r
		case w == "--comment":
			r.ours = r.ours || value == tag()
			i++
		case w == "-m" && value == "comment":
			i++
		case w == "-i", w == "-o":
			r.always = false
			i++
		case w == "!" && (value == "-i" || value == "-o"):
			r.always = false
			i += 2
		default:
			r.general, r.always = false, false
		}
	}
	return r
}

// split splits a line into words. iptables quotes words with blanks in double quotes and
// escapes quotes and backslashes in them.
func split(line string) []string {
	var words []string
	var word strings.Builder
	quoted, begun := false, false
	for i := 0; i < len(line); i++ {
		switch b := line[i]; {
		case b == '"':
			quoted, begun = !quoted, true
		case b == '\\' && quoted && i+1 < len(line):
			i++
			word.WriteByte(line[i])
		case b == ' ' && !quoted:
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteByte(b)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words
}

// reader returns the rules of a chain of a filter table.
type reader func(name string) (chain, error)

// position is the place of our rules.
type position struct {
	// needed is false if no rule drops forwarded packets.
	needed bool
	chain  string
	// before is the number of foreign rules of the chain that precede ours.
	before int
}

// find returns the position of our rules, following the chains from FORWARD.
func find(read reader) (position, error) {
	f, err := read(forward)
	if err != nil {
		return position{}, err
	}
	foreign := slices.DeleteFunc(slices.Clone(f.rules), func(r rule) bool { return r.ours })
	for i, r := range foreign {
		if r.always && r.target == dockerUser {
			return inDockerUser(read)
		}
		eats, err := r.eats(read, f.policy == "DROP", 0)
		if err != nil {
			return position{}, err
		}
		if eats {
			return position{needed: true, chain: forward, before: i}, nil
		}
		if r.always && r.target == "ACCEPT" {
			return position{}, nil // later rules are not reached
		}
	}
	return position{needed: f.policy == "DROP", chain: forward, before: len(foreign)}, nil
}

// inDockerUser returns the position after the operator's rules and before the final
// RETURN of Docker.
func inDockerUser(read reader) (position, error) {
	c, err := read(dockerUser)
	if err != nil {
		return position{}, err
	}
	foreign := slices.DeleteFunc(slices.Clone(c.rules), func(r rule) bool { return r.ours })
	for i, r := range foreign {
		eats, err := r.eats(read, false, 0)
		if err != nil {
			return position{}, err
		}
		if eats || r.always && r.target == "RETURN" {
			return position{needed: true, chain: dockerUser, before: i}, nil
		}
	}
	return position{needed: true, chain: dockerUser, before: len(foreign)}, nil
}

// goesOn contains the targets after which the next rule is evaluated.
var goesOn = map[string]bool{"": true, "LOG": true, "NFLOG": true, "MARK": true, "CONNMARK": true, "TCPMSS": true, "CT": true,
	"NOTRACK": true, "TRACE": true, "AUDIT": true, "SET": true, "CLASSIFY": true, "DSCP": true}

// maxDepth bounds the depth of followed jumps; iptables rejects loops.
const maxDepth = 16

// eats reports whether the rule drops every packet that reaches it, directly or through
// its target chain. If the policy is DROP (dropping), the chain that logs packets about
// to be dropped counts too, so that accepted packets are not logged there.
func (r rule) eats(read reader, dropping bool, depth int) (bool, error) {
	if !r.general || depth > maxDepth || goesOn[r.target] {
		return false, nil
	}
	switch r.target {
	case "DROP", "REJECT":
		return true, nil
	case "ACCEPT", "RETURN", "QUEUE", "NFQUEUE":
		return false, nil
	case "ufw-after-logging-forward", "ufw6-after-logging-forward":
		if dropping {
			return true, nil
		}
	}
	c, err := read(r.target)
	if err != nil {
		return false, err
	}
	for _, inner := range c.rules {
		eats, err := inner.eats(read, dropping, depth+1)
		if err != nil || eats {
			return eats, err
		}
		if inner.always && (inner.target == "RETURN" || inner.target == "ACCEPT") {
			return false, nil
		}
	}
	return false, nil
}
