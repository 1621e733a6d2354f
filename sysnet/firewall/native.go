package firewall

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
)

// base is a chain of nft that sees what is passed on, or what comes in.
type base struct {
	family, table, name, policy string
}

// iptables reports whether the chain belongs to iptables-nft.
func (b base) iptables() bool {
	return (b.family == "ip" || b.family == "ip6") && b.table == "filter" && (b.name == forward || b.name == input)
}

// ownTables are ours: sysnet never warns of itself.
const ownTables = "sluice"

// listing is what `nft -j list …` prints, as far as it matters here.
type listing struct {
	Nftables []struct {
		Chain *struct {
			Family, Table, Name, Hook, Policy string
		}
		Rule *struct {
			Family, Table, Chain string
			Expr                 []map[string]json.RawMessage
		}
	}
}

// bases are all chains at a hook.
func bases(hook string) ([]base, error) {
	l, err := nft("list", "chains")
	if err != nil {
		return nil, err
	}
	return l.bases(hook), nil
}

func (l *listing) bases(hook string) []base {
	var all []base
	for _, o := range l.Nftables {
		if c := o.Chain; c != nil && c.Hook == hook && c.Table != ownTables {
			all = append(all, base{c.Family, c.Table, c.Name, c.Policy})
		}
	}
	return all
}

// warning says what a foreign chain does to packets with the marks of n; empty
// when it lets them pass, as far as that can be seen.
func (b base) warning(n Need) (string, error) {
	l, err := nft("list", "chain", b.family, b.table, b.name)
	if err != nil {
		return "", err
	}
	return l.warning(b, n), nil
}

func (l *listing) warning(b base, n Need) string {
	mark := fmt.Sprint(n.Mark)
	for _, o := range l.Nftables {
		if o.Rule == nil {
			continue
		}
		text := exprText(o.Rule.Expr)
		switch last := verdict(o.Rule.Expr); {
		case last == "accept" && strings.Contains(text, mark):
			return "" // its owner let them through
		case last == "accept" && !n.Marked && text == `{"match":{"left":{"ct":{"key":"status"}},"op":"in","right":"dnat"}}`:
			return "" // firewalld: what was forwarded by destination is let through
		case last == "accept" && text == "":
			return ""
		case (last == "drop" || last == "reject") && text == "": // nothing gets to what follows
			return b.closed(last+"s what it has not accepted before", n)
		}
	}
	if b.policy == "drop" {
		return b.closed("drops what it does not accept", n)
	}
	return ""
}

// closed warns of a chain that does that.
func (b base) closed(how string, n Need) string {
	which := "ct mark"
	if n.Marked {
		which = "meta mark"
	}
	return fmt.Sprintf("chain %s of table %s %s %s; no other table can let packets of farms through there: its owner may add the rule \"%s and %#x == %#x accept\"",
		b.name, b.family, b.table, how, which, n.Mask, n.Mark)
}

// verdict is the last expression's name when it is one.
func verdict(expr []map[string]json.RawMessage) string {
	if len(expr) == 0 {
		return ""
	}
	for name := range expr[len(expr)-1] {
		return name
	}
	return ""
}

// exprText is the conditions of a rule as compact JSON with sorted names:
// everything but counters, logs and the verdict at the end.
func exprText(expr []map[string]json.RawMessage) string {
	var parts []string
	for _, e := range expr[:max(len(expr)-1, 0)] {
		if e["counter"] != nil || e["log"] != nil {
			continue
		}
		var v any
		raw, err := json.Marshal(e)
		if err == nil && json.Unmarshal(raw, &v) == nil {
			raw, _ = json.Marshal(v)
		}
		parts = append(parts, string(raw))
	}
	return strings.Join(parts, ",")
}

// nft asks the program; a machine without it has no such tables that matter.
func nft(args ...string) (*listing, error) {
	program, err := exec.LookPath("nft")
	if err != nil {
		return &listing{}, nil
	}
	var problem bytes.Buffer
	cmd := exec.Command(program, append([]string{"-j"}, args...)...)
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("nft %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(problem.Bytes()))
	}
	return parseListing(out)
}

func parseListing(out []byte) (*listing, error) {
	var l listing
	if err := json.Unmarshal(out, &l); err != nil {
		return nil, fmt.Errorf("what nft printed cannot be read: %w", err)
	}
	return &l, nil
}
