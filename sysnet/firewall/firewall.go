package firewall

import (
	"errors"
	"slices"
	"strings"
	"sync"
)

// Need describes the packets that farms forward.
type Need struct {
	// Mark and Mask match the marks of packets of farms.
	Mark, Mask uint32
	// Packets are the kinds of forwarded packets.
	Packets []Packets
}

// of reports whether n contains packets of the family that carry the mark themselves
// (marked) or on their connection.
func (n Need) of(marked, v6 bool) bool {
	return slices.ContainsFunc(n.Packets, func(p Packets) bool { return p.Marked == marked && p.V6 == v6 })
}

// in returns the kinds of packets of the family.
func (n Need) in(v6 bool) []Packets {
	return slices.DeleteFunc(slices.Clone(n.Packets), func(p Packets) bool { return p.V6 != v6 })
}

// Firewall opens foreign firewalls. The zero value is ready to use. It is safe for
// concurrent use.
type Firewall struct {
	mu   sync.Mutex
	seen fingerprint
}

// Keep inserts the rules that let the packets of n pass and deletes all other rules of
// ours. It continues after errors. The warnings are about firewalls that it cannot open.
// It is idempotent and repairs foreign changes.
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

// List returns our rules in the kernel.
func (f *Firewall) List() ([]Rule, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	tables, _, err := tables("forward")
	problems := []error{err}
	var all []Rule
	for _, t := range tables {
		if t.err != nil {
			continue // an unreadable table contains no rules of ours
		}
		rules, err := t.list()
		problems = append(problems, err)
		all = append(all, rules...)
	}
	return all, errors.Join(problems...)
}

// opened is an existing table of iptables, or the error of reading it.
type opened struct {
	*table
	v6  bool
	err error
}

// tables returns the existing filter tables of iptables, and the nft base chains at the
// hook that do not belong to iptables.
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
