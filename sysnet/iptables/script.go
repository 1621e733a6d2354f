package iptables

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/sysnet/claim"
)

// prefix returns the prefix of all chain names of this instance. A chain name is the
// prefix alone or continues with a hyphen.
func prefix() string { return claim.Own().Chains() }

// hook returns the rule that jumps to a chain of ours.
func hook(chain string) string { return `-m comment --comment sluice -j ` + chain }

// Script is the wanted content of our chains, by table, in the order of changes.
type Script struct{ Tables []*Table }

// Table is our part of one table.
type Table struct {
	Name string // filter, mangle, nat or raw
	// Hooks are the jumps from built-in chains to ours.
	Hooks  []Hook
	Chains []*Chain
}

// Hook is a jump from a built-in chain to one of ours.
type Hook struct{ From, To string }

// Chain is a chain of ours.
type Chain struct {
	Name  string // the prefix, alone or followed by a hyphen; at most 28 bytes
	Rules []string
	// Owner is the owner of its rules, or 0; see Error.
	Owner uint32
}

// Table returns the part of the table, adding it if necessary.
func (s *Script) Table(name string) *Table {
	for _, t := range s.Tables {
		if t.Name == name {
			return t
		}
	}
	t := &Table{Name: name}
	s.Tables = append(s.Tables, t)
	return t
}

// Has reports whether the table has the chain.
func (t *Table) Has(name string) bool {
	return slices.ContainsFunc(t.Chains, func(c *Chain) bool { return c.Name == name })
}

// Chain returns the chain, adding it if necessary.
func (t *Table) Chain(name string, owner uint32) *Chain {
	for _, c := range t.Chains {
		if c.Name == name {
			return c
		}
	}
	c := &Chain{Name: name, Owner: owner}
	t.Chains = append(t.Chains, c)
	return c
}

// Add appends a rule, without "-A CHAIN".
func (c *Chain) Add(format string, args ...any) {
	c.Rules = append(c.Rules, fmt.Sprintf(format, args...))
}

// input is the input of iptables-restore with the owner of each line.
type input struct {
	text   strings.Builder
	owners []uint32
}

func (in *input) line(owner uint32, format string, args ...any) {
	fmt.Fprintf(&in.text, format+"\n", args...)
	in.owners = append(in.owners, owner)
}

// owner returns the owner of a line, counted from 1, or 0 if it has none.
func (in *input) owner(line int) uint32 {
	if line < 1 || line > len(in.owners) {
		return 0
	}
	return in.owners[line-1]
}

// input returns the input that turns there into the script.
func (s *Script) input(there *state) *input {
	in := &input{}
	for _, t := range s.Tables {
		t.input(in, there.table(t.Name))
	}
	for _, name := range there.names() {
		if !slices.ContainsFunc(s.Tables, func(t *Table) bool { return t.Name == name }) {
			(&Table{Name: name}).input(in, there.table(name))
		}
	}
	return in
}

// input writes one table. Declaring a chain flushes it, so unwanted chains can be deleted
// at the end, when nothing refers to them.
func (t *Table) input(in *input, there *part) {
	var stale []string
	for _, name := range there.chains {
		if !slices.ContainsFunc(t.Chains, func(c *Chain) bool { return c.Name == name }) {
			stale = append(stale, name)
		}
	}
	if len(stale) == 0 && len(t.Chains) == 0 && len(there.hooks) == 0 {
		return
	}
	in.line(0, "*%s", t.Name)
	for _, c := range t.Chains {
		in.line(c.Owner, ":%s - [0:0]", c.Name)
	}
	for _, name := range stale {
		in.line(0, ":%s - [0:0]", name)
	}
	for _, h := range there.hooks {
		if !slices.Contains(t.Hooks, h) {
			in.line(0, "-D %s %s", h.From, hook(h.To))
		}
	}
	for _, c := range t.Chains {
		for _, rule := range c.Rules {
			in.line(c.Owner, "-A %s %s", c.Name, rule)
		}
	}
	for _, h := range t.Hooks {
		if !slices.Contains(there.hooks, h) {
			in.line(0, "-I %s 1 %s", h.From, hook(h.To))
		}
	}
	for _, name := range stale {
		in.line(0, "-X %s", name)
	}
	in.line(0, "COMMIT")
}
