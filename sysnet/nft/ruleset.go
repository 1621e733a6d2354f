package nft

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
)

// Table is a table of the packet filter. The zero value means no table.
type Table struct{ Family, Name string }

// String returns the table in the syntax of nft: "inet sluice".
func (t Table) String() string { return t.Family + " " + t.Name }

// ID names an object of a table. Sets, chains and helpers have separate namespaces.
type ID struct {
	Table
	Name string
}

// String returns the object in the syntax of nft: "inet sluice farm12".
func (id ID) String() string { return id.Table.String() + " " + id.Name }

// Compare orders IDs by family, table and name.
func (id ID) Compare(other ID) int {
	return cmp.Or(cmp.Compare(id.Family, other.Family), cmp.Compare(id.Table.Name, other.Table.Name), cmp.Compare(id.Name, other.Name))
}

// Ruleset is the complete wanted content of some tables. The zero value is empty and
// ready to use. A table exists while it contains an object.
type Ruleset struct {
	Sets    map[ID]*Set
	Chains  map[ID]*Chain
	Helpers map[ID]*Helper
}

// Set is a set, or a map if Data is not empty. The definition of an ID cannot change, so
// sets of different definitions need different names.
type Set struct {
	// Type is the type of the keys, Data that of the values: "ipv4_addr . inet_service",
	// "verdict".
	Type, Data string
	// Options follow the type: "flags interval; ", "size 65535; ".
	Options string
	// Learned is true if packets add elements too. Diff then leaves all elements alone;
	// Elements apply only when the set is created.
	Learned  bool
	Elements map[string]Element // by key, in the syntax of nft
	Owner    uint32
}

// Element holds everything of an element except its key.
type Element struct {
	// State comes between key and value: "counter", "ct count over 9".
	State string
	// Value is the value of a map element.
	Value string
	Owner uint32
}

// Chain is a list of rules.
type Chain struct {
	// Hook makes it a base chain: "type nat hook prerouting priority -100; policy
	// accept;".
	Hook  string
	Rules []string
	Owner uint32
}

// Helper is a conntrack helper object: `type "ftp" protocol tcp;`.
type Helper struct {
	Text  string
	Owner uint32
}

// SetOf returns the set with the ID. If it is missing, SetOf adds the result of make.
func (r *Ruleset) SetOf(id ID, make func() *Set) *Set {
	if s := r.Sets[id]; s != nil {
		return s
	}
	if r.Sets == nil {
		r.Sets = map[ID]*Set{}
	}
	s := make()
	if s.Elements == nil {
		s.Elements = map[string]Element{}
	}
	r.Sets[id] = s
	return s
}

// ChainOf returns the chain with the ID. If it is missing, ChainOf adds the result of
// make.
func (r *Ruleset) ChainOf(id ID, make func() *Chain) *Chain {
	if c := r.Chains[id]; c != nil {
		return c
	}
	if r.Chains == nil {
		r.Chains = map[ID]*Chain{}
	}
	c := make()
	r.Chains[id] = c
	return c
}

// AddHelper adds a helper object unless the ID exists.
func (r *Ruleset) AddHelper(id ID, h Helper) {
	if r.Helpers == nil {
		r.Helpers = map[ID]*Helper{}
	}
	if r.Helpers[id] == nil {
		r.Helpers[id] = &h
	}
}

// Tables returns the tables that contain objects, sorted.
func (r *Ruleset) Tables() []Table {
	seen := map[Table]bool{}
	for id := range r.Sets {
		seen[id.Table] = true
	}
	for id := range r.Chains {
		seen[id.Table] = true
	}
	for id := range r.Helpers {
		seen[id.Table] = true
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b Table) int {
		return cmp.Or(cmp.Compare(a.Family, b.Family), cmp.Compare(a.Name, b.Name))
	})
}

// Digest returns a digest of the ruleset, 32 hexadecimal digits. It does not cover
// owners.
func (r *Ruleset) Digest() string {
	sum := sha256.Sum256([]byte(diff(&Ruleset{}, r, nil).Text()))
	return hex.EncodeToString(sum[:16])
}

func ordered[V any](m map[ID]V) []ID { return slices.SortedFunc(maps.Keys(m), ID.Compare) }

func (s *Set) sameDefinition(other *Set) bool {
	return s.Type == other.Type && s.Data == other.Data && s.Options == other.Options && s.Learned == other.Learned
}

// kind returns the keyword of nft: "set" or "map".
func (s *Set) kind() string {
	if s.Data != "" {
		return "map"
	}
	return "set"
}

func (s *Set) definition() string {
	if s.Data == "" {
		return "type " + s.Type + "; " + s.Options
	}
	return "type " + s.Type + " : " + s.Data + "; " + s.Options
}

// OwnedChains returns the chains of an owner, sorted.
func (r *Ruleset) OwnedChains(owner uint32) []ID {
	var out []ID
	for _, id := range ordered(r.Chains) {
		if r.Chains[id].Owner == owner {
			out = append(out, id)
		}
	}
	return out
}

// OwnedElements returns the sets and elements of an owner as text.
func (r *Ruleset) OwnedElements(owner uint32) string {
	b := &Batch{}
	for _, id := range ordered(r.Sets) {
		s, own := r.Sets[id], map[string]Element{}
		for key, e := range s.Elements {
			if e.Owner == owner {
				own[key] = e
			}
		}
		if s.Owner == owner || len(own) > 0 {
			b.add(owner, s.kind()+" "+id.String()+" { "+strings.TrimSpace(s.definition())+" }")
		}
		b.elements("element of", id, s, own)
	}
	lines := b.lines[:0]
	for _, l := range b.lines { // drop the lines that enclose the elements
		if l != "}" && !strings.HasPrefix(l, "element of") {
			lines = append(lines, strings.TrimSuffix(l, ","))
		}
	}
	return strings.Join(append(lines, ""), "\n")
}
