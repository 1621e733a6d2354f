package firewall

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/go-iptables/iptables"
)

// lockTimeout bounds the wait for the xtables lock, in seconds.
const lockTimeout = 5

// table is an existing filter table of iptables.
type table struct {
	name    string // "iptables-nft", "ip6tables-legacy"
	program string // program that reads it
	ipt     *iptables.IPTables
}

// Rule is one rule of ours in the kernel.
type Rule struct {
	Table string `json:"table"` // "iptables-nft"
	Text  string `json:"rule"`  // in the format of iptables -S
}

// specs returns the sorted rules of a Need for packets of the family.
func specs(n Need, v6 bool) [][]string {
	var all [][]string
	mark := fmt.Sprintf("%#x/%#x", n.Mark, n.Mask)
	for match, wanted := range map[string]bool{"connmark": n.of(false, v6), "mark": n.of(true, v6)} {
		if wanted {
			all = append(all, []string{"-m", match, "--mark", mark, "-m", "comment", "--comment", tag(), "-j", "ACCEPT"})
		}
	}
	slices.SortFunc(all, slices.Compare)
	return all
}

// open returns the table with the program that reads it.
func open(kind string, v6 bool) (*table, error) {
	name, family := "iptables", iptables.ProtocolIPv4
	if v6 {
		name, family = "ip6tables", iptables.ProtocolIPv6
	}
	// If only one kind is installed, the program name may lack the kind.
	for _, program := range []string{name + "-" + kind, name} {
		ipt, err := iptables.New(iptables.IPFamily(family), iptables.Path(program), iptables.Timeout(lockTimeout))
		if errors.Is(err, exec.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", program, err)
		}
		if program == name && !isKind(program, kind) {
			continue
		}
		return &table{name: name + "-" + kind, program: program, ipt: ipt}, nil
	}
	return nil, fmt.Errorf("there are rules of %s-%s, and no such program to read them", name, kind)
}

func isKind(program, kind string) bool {
	out, err := exec.Command(program, "--version").Output()
	return err == nil && strings.Contains(string(out), "nf_tables") == (kind == "nft")
}

// legacy reports whether the legacy filter table of the family exists. It reads /proc
// because running iptables would create the table.
func legacy(v6 bool) bool {
	path := "/proc/thread-self/net/ip_tables_names"
	if v6 {
		path = "/proc/thread-self/net/ip6_tables_names"
	}
	b, err := os.ReadFile(path)
	return err == nil && slices.Contains(strings.Fields(string(b)), "filter")
}

// chains returns a reader that lists each chain on first use. A name that is no chain
// (e.g. the target of an extension) has no rules.
func (t *table) chains() (reader, error) {
	names, err := t.ipt.ListChains("filter")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	known := map[string]chain{}
	return func(name string) (chain, error) {
		if c, ok := known[name]; ok || !slices.Contains(names, name) {
			return c, nil
		}
		lines, err := t.ipt.List("filter", name)
		if err != nil {
			return chain{}, fmt.Errorf("%s: %w", t.name, err)
		}
		known[name] = parseChain(lines)
		return known[name], nil
	}, nil
}

// saved returns the lines of `iptables -S` for the whole table. It waits for the xtables lock for
// the given number of seconds, which must not be 0: some versions then wait without end.
func (t *table) saved(wait int) ([]string, error) {
	out, err := exec.Command(t.program, "--wait", strconv.Itoa(wait), "-t", "filter", "-S").Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	return strings.Split(string(out), "\n"), nil
}

// reconcile inserts the wanted rules at their position and deletes all other rules of
// ours.
func (t *table) reconcile(want [][]string) error {
	read, err := t.chains()
	if err != nil {
		return err
	}
	at, err := find(read)
	if err != nil {
		return err
	}
	if !at.needed {
		want = nil
	}
	for _, name := range []string{forward, dockerUser} {
		c, err := read(name)
		if err != nil {
			return err
		}
		here := want
		if name != at.chain {
			here = nil
		}
		if intact(c, here, at.before) {
			continue
		}
		if err := t.insert(name, c, here, at.before); err != nil {
			return err
		}
	}
	return nil
}

// intact reports whether exactly the wanted rules of ours are in the chain, all before
// the rule that would drop their packets.
func intact(c chain, want [][]string, before int) bool {
	var ours []string
	foreign := 0
	for _, r := range c.rules {
		if !r.ours {
			foreign++
			continue
		}
		if foreign > before {
			return false
		}
		ours = append(ours, strings.Join(split(r.line)[2:], " "))
	}
	slices.Sort(ours)
	return slices.EqualFunc(ours, want, func(have string, spec []string) bool { return have == strings.Join(spec, " ") })
}

// insert inserts the wanted rules before it deletes the old ones, so that packets are
// always accepted.
func (t *table) insert(name string, c chain, want [][]string, before int) error {
	var old []int // positions of our rules, from 1
	position, foreign := 1, 0
	for i, r := range c.rules {
		if r.ours {
			old = append(old, i+1)
			continue
		}
		if foreign < before {
			foreign++
			position = i + 2
		}
	}
	for _, spec := range want {
		if err := t.ipt.Insert("filter", name, position, spec...); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	for _, at := range slices.Backward(old) {
		if at >= position {
			at += len(want)
		}
		// Delete by number: a new rule may have the same text.
		lines, err := t.ipt.List("filter", name)
		if now := parseChain(lines).rules; err == nil && (at > len(now) || !now[at-1].ours) {
			err = errors.New("the rules changed meanwhile")
		}
		if err == nil {
			err = t.ipt.DeleteById("filter", name, at)
		}
		if err != nil {
			return fmt.Errorf("%s: removing rule %d of %s: %w", t.name, at, name, err)
		}
	}
	return nil
}

// list returns our rules.
func (t *table) list() ([]Rule, error) {
	read, err := t.chains()
	if err != nil {
		return nil, err
	}
	var all []Rule
	for _, name := range []string{forward, dockerUser} {
		c, err := read(name)
		if err != nil {
			return all, err
		}
		for _, r := range c.rules {
			if r.ours {
				all = append(all, Rule{Table: t.name, Text: r.line})
			}
		}
	}
	return all, nil
}
