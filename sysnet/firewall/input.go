package firewall

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// hook is a base chain at the input or forward hook.
type hook struct {
	families string // "ip", "ip6" or "inet"
	name     string // name for messages
	base     string
	dropping bool // policy is drop
	chains   map[string][]stepper
	// rule returns the rule that accepts clients of the ports first … last.
	rule func(network string, first, last uint16) string
	// native evaluates the chain for a kind of packet of farms; nil for iptables, where
	// Keep adds rules.
	native func(farmPacket) bool
}

// Dropped returns, by ID, the farms with a listener that gets no new clients from other
// machines because a firewall certainly drops them, at the input hook or at prerouting. Each sentence names a chain and the
// rules that its owner may add. A rule that is not understood suppresses the sentence.
// Nothing is changed.
func Dropped(farms map[uint32][]Listener) (map[uint32][]string, error) {
	if len(farms) == 0 {
		return nil, nil
	}
	hooks, err := hooks("input", "prerouting")
	out := map[uint32][]string{}
	for id, all := range farms {
		for i := range hooks {
			if text := hooks[i].says(all); text != "" {
				out[id] = append(out[id], text)
			}
		}
	}
	return out, err
}

// hooks returns the foreign base chains at the hook of that name, and the nft chains at an
// earlier one.
func hooks(at string, earlier ...string) (all []hook, err error) {
	tables, native, err := tables(at)
	problems := []error{err}
	for _, e := range earlier {
		chains, _ := bases(e) // tables has reported the error
		native = append(native, slices.DeleteFunc(chains, base.iptables)...)
	}
	for _, b := range native {
		l, err := nft("--terse", "list", "table", b.family, b.table)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		all = append(all, hook{b.family, b.family + " " + b.table + " " + b.name, b.name, b.policy == "drop", l.chains(), nftRule(b.table),
			func(p farmPacket) bool { return closes(l.statementLists(), b, p) }})
	}
	for _, t := range tables {
		if t.err != nil {
			problems = append(problems, t.err)
			continue
		}
		lines, err := t.saved(lockTimeout)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		family := "ip"
		if t.v6 {
			family = "ip6"
		}
		chains, policies := savedChains(lines)
		base := strings.ToUpper(at)
		all = append(all, hook{family, family + " filter " + base + " (" + t.name + ")", base, policies[base] == "DROP", chains, iptablesRule(chains), nil})
	}
	slices.SortFunc(all, func(a, b hook) int { return strings.Compare(a.name, b.name) })
	return all, errors.Join(problems...)
}

// chains returns the chains of the listing with their rules.
func (l *listing) chains() map[string][]stepper {
	all := map[string][]stepper{}
	for _, o := range l.Nftables {
		switch {
		case o.Chain != nil && all[o.Chain.Name] == nil:
			all[o.Chain.Name] = []stepper{}
		case o.Rule != nil:
			all[o.Rule.Chain] = append(all[o.Rule.Chain], nftStepper(o.Rule.Expr))
		}
	}
	return all
}

// says returns a sentence with the rules that the chain lacks for a farm, or "" if it may
// accept all clients.
func (h *hook) says(all []Listener) string {
	var rules []string
	for _, network := range []string{"tcp", "udp"} {
		for _, r := range runs(h.droppedPorts(all, network)) {
			rules = append(rules, fmt.Sprintf("%q", h.rule(network, r[0], r[1])))
		}
	}
	switch len(rules) {
	case 0:
		return ""
	case 1:
		return h.name + " drops it: a rule such as " + rules[0] + " is missing"
	}
	return h.name + " drops it: rules such as " + strings.Join(rules, ", ") + " are missing"
}

// drops reports whether packets to l traverse the chain, which certainly drops them.
func (h *hook) drops(l Listener) bool {
	family := "ip6"
	if l.Addr.Addr().Is4() {
		family = "ip"
	}
	return (h.families == "inet" || h.families == family) && drops(h.chains, h.base, h.dropping, l)
}

func (h *hook) droppedPorts(all []Listener, network string) (ports []uint16) {
	for _, l := range all {
		if l.Network == network && h.drops(l) {
			ports = append(ports, l.Addr.Port())
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// runs merges consecutive ports into ranges.
func runs(ports []uint16) (out [][2]uint16) {
	for _, p := range ports {
		if n := len(out); n > 0 && out[n-1][1]+1 == p {
			out[n-1][1] = p
			continue
		}
		out = append(out, [2]uint16{p, p})
	}
	return out
}

// nftRule returns the function that formats a rule for an nft table.
func nftRule(table string) func(network string, first, last uint16) string {
	return func(network string, first, last uint16) string {
		ports := span(first, last, "-")
		if table == "firewalld" {
			return "firewall-cmd --add-port=" + ports + "/" + network
		}
		return network + " dport " + ports + " accept"
	}
}

// iptablesRule returns the function that formats a rule for these iptables chains.
func iptablesRule(chains map[string][]stepper) func(network string, first, last uint16) string {
	return func(network string, first, last uint16) string {
		ports := span(first, last, ":")
		if chains["ufw-user-input"] != nil || chains["ufw6-user-input"] != nil {
			return "ufw allow " + ports + "/" + network
		}
		return "-I " + input + " -p " + network + " --dport " + ports + " -j ACCEPT"
	}
}

func span(first, last uint16, between string) string {
	if first == last {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d%s%d", first, between, last)
}
