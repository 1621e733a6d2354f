package firewall

import (
	"errors"
	"slices"
	"strings"
	"sync"
)

// Need says which packets the farms need to have passed on.
type Need struct {
	// Mark and Mask compare the marks of packets of farms.
	Mark, Mask uint32
	// Packets are the kinds of packets to be passed on.
	Packets []Packets
}

// of reports whether there are such packets of the family.
func (n Need) of(marked, v6 bool) bool {
	return slices.ContainsFunc(n.Packets, func(p Packets) bool { return p.Marked == marked && p.V6 == v6 })
}

// in are the packets of the family.
func (n Need) in(v6 bool) []Packets {
	return slices.DeleteFunc(slices.Clone(n.Packets), func(p Packets) bool { return p.V6 != v6 })
}

// Firewall opens the firewalls of others. The zero value is ready; any
// goroutine may call its methods.
type Firewall struct {
	mu sync.Mutex
}

// Keep makes the packets of n pass where others would drop them, and takes
// back every rule of ours that is not needed. It does what it can; warnings are
// about firewalls it cannot open. Asking again for the same changes
// nothing, unless others changed something.
func (f *Firewall) Keep(n Need) (warnings []Warning, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	tables, native, err := tables("forward")
	problems := []error{err}
	for _, t := range tables {
		want := specs(n, t.v6)
		if t.err != nil {
			if want != nil {
				warnings = append(warnings, Warning{t.err.Error(), n.in(t.v6)})
			}
			continue
		}
		problems = append(problems, t.reconcile(want))
	}
	for _, b := range native {
		w, ok, err := b.warning(n)
		problems = append(problems, err)
		if ok {
			warnings = append(warnings, w)
		}
	}
	slices.SortFunc(warnings, func(a, b Warning) int { return strings.Compare(a.Text, b.Text) })
	return warnings, errors.Join(problems...)
}

// List returns the rules of ours that are in the kernel.
func (f *Firewall) List() ([]Rule, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	tables, _, err := tables("forward")
	problems := []error{err}
	var all []Rule
	for _, t := range tables {
		if t.err != nil {
			continue // what cannot be read was not written by us
		}
		rules, err := t.list()
		problems = append(problems, err)
		all = append(all, rules...)
	}
	return all, errors.Join(problems...)
}

// opened is a table of iptables that exists, or why it cannot be read.
type opened struct {
	*table
	v6  bool
	err error
}

// tables finds the filter tables of iptables that exist, and the chains of nft
// at the hook that are none of iptables.
func tables(hook string) (all []opened, native []base, err error) {
	chains, err := bases(hook)
	for _, v6 := range []bool{false, true} {
		family := "ip"
		if v6 {
			family = "ip6"
		}
		if slices.ContainsFunc(chains, func(b base) bool { return b.iptables() && b.family == family }) {
			t, err := open("nft", v6)
			all = append(all, opened{t, v6, err})
		}
		if legacy(v6) {
			t, err := open("legacy", v6)
			all = append(all, opened{t, v6, err})
		}
	}
	native = slices.DeleteFunc(chains, base.iptables)
	return all, native, err
}
