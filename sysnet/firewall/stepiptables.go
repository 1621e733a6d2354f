package firewall

import (
	"slices"
	"strconv"
	"strings"
)

// savedChains parses the output of `iptables -S` for a table.
func savedChains(lines []string) (chains map[string][]stepper, policies map[string]string) {
	chains, policies = map[string][]stepper{}, map[string]string{}
	for _, line := range lines {
		words := split(line)
		switch {
		case len(words) >= 3 && words[0] == "-P":
			policies[words[1]] = words[2]
			chains[words[1]] = []stepper{}
		case len(words) >= 2 && words[0] == "-N":
			chains[words[1]] = []stepper{}
		case len(words) >= 2 && words[0] == "-A":
			chains[words[1]] = append(chains[words[1]], func(to Listener) []step { return savedSteps(words[2:], to) })
		}
	}
	return chains, policies
}

// understood lists the match modules whose conditions are evaluated.
var understood = []string{"tcp", "udp", "sctp", "multiport", "conntrack", "state", "addrtype", "comment"}

// savedSteps evaluates the words after "-A CHAIN" for packets to a listener. It ignores
// the options of the target.
func savedSteps(words []string, to Listener) []step {
	here, not := always, false
	for i := 0; i < len(words); i++ {
		value := ""
		if i+1 < len(words) {
			value = words[i+1]
		}
		f, taken := always, true
		switch words[i] {
		case "!":
			not = true
			continue
		case "-j", "-g":
			return savedVerdict(words[i] == "-g", value, here)
		case "--comment":
		case "-m":
			if !slices.Contains(understood, value) {
				here = min(here, perhaps)
			}
		default:
			f, taken = savedCondition(words[i], value, to)
			if not {
				f = always - f
			}
		}
		not = false
		if here = min(here, f); here == never {
			return nil
		}
		if taken {
			i++
		}
	}
	return nil // no target: the rule only counts
}

// savedCondition evaluates one condition. taken is true if it consumes value.
func savedCondition(name, value string, to Listener) (f fit, taken bool) {
	each := func(is func(string) fit) (fit, bool) {
		best := never
		for text := range strings.SplitSeq(value, ",") {
			best = max(best, is(text))
		}
		return best, true
	}
	switch name {
	case "-p":
		return to.protocol(value), true
	case "-d":
		return to.inside(value), true
	case "-i":
		return to.comesBy(value), true
	case "--dport", "--dports":
		return each(to.savedPort)
	case "--ctstate", "--state":
		return each(to.newClient)
	case "--dst-type":
		return each(to.destination)
	}
	return perhaps, false
}

// savedPort compares the port with "80" or "8000:8010".
func (l Listener) savedPort(text string) fit {
	a, b, isRange := strings.Cut(text, ":")
	if !isRange {
		b = a
	}
	first, err := strconv.ParseUint(a, 10, 16)
	last, also := strconv.ParseUint(b, 10, 16)
	if err != nil || also != nil {
		return perhaps
	}
	return l.port(first, last)
}

func savedVerdict(isGoto bool, target string, here fit) []step {
	s := step{fit: here, target: target}
	switch {
	case goesOn[target]:
		return nil
	case target == "ACCEPT":
		s.fate = accept
	case target == "DROP", target == "REJECT":
		s.fate = drop
	case target == "RETURN":
		s.fate = giveBack
	case isGoto:
		s.fate = gotoChain
	default:
		s.fate = jump // an unknown target may have any verdict
	}
	return []step{s}
}
