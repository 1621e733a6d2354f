package nft

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"sync"
)

// Part is a Ruleset that never changes, e.g. the rules of one farm. Use NewPart to make
// one.
type Part struct {
	rules  *Ruleset
	digest [sha256.Size]byte
	shared names
}

// names holds objects that several parts may have: tables, and sets, chains and helpers.
type names struct {
	tables                []Table
	sets, chains, helpers []ID
}

// NewPart returns r as a part. r must not be modified afterwards.
func NewPart(r *Ruleset) *Part {
	p := &Part{rules: r, digest: sha256.Sum256([]byte(diff(&Ruleset{}, r, nil).Text())), shared: names{tables: r.Tables()}}
	for id, s := range r.Sets {
		if s.Owner == 0 {
			p.shared.sets = append(p.shared.sets, id)
		}
	}
	slices.SortFunc(p.shared.sets, ID.Compare)
	for id, c := range r.Chains {
		if c.Owner == 0 {
			p.shared.chains = append(p.shared.chains, id)
		}
	}
	for id := range r.Helpers { // the owner is just the first one
		p.shared.helpers = append(p.shared.helpers, id)
	}
	return p
}

// SharedSets returns the sets without an owner, sorted. The caller must not modify the result.
func (p *Part) SharedSets() []ID { return p.shared.sets }

// Tables returns the tables that contain objects of the part. The caller must not modify the
// result.
func (p *Part) Tables() []Table { return p.shared.tables }

// Parts is a ruleset that consists of parts, each with a number. It never changes. Sets and
// chains without an owner, and helpers, may be in several parts with the same definition;
// all other objects, and the elements of a set, are in one part only. So two rulesets with
// common parts can be compared by the other parts. Use Join to make one.
type Parts struct {
	parts map[uint32]*Part
	// The number of parts that have an object.
	tables                map[Table]int
	sets, chains, helpers map[ID]int
	whole                 func() *Ruleset
}

// Join returns the ruleset of the parts, which the caller must not modify afterwards. It
// costs little if before has most of the parts; nil stands for a ruleset without parts.
func Join(before *Parts, parts map[uint32]*Part) *Parts {
	p := &Parts{parts: parts}
	if before == nil {
		before = &Parts{}
	}
	p.tables, p.sets = copied(before.tables), copied(before.sets)
	p.chains, p.helpers = copied(before.chains), copied(before.helpers)
	for number, part := range before.parts {
		if parts[number] != part {
			p.count(part, -1)
		}
	}
	for number, part := range parts {
		if before.parts[number] != part {
			p.count(part, 1)
		}
	}
	p.whole = sync.OnceValue(p.merge)
	return p
}

func copied[K comparable](m map[K]int) map[K]int {
	if m == nil {
		return map[K]int{}
	}
	return maps.Clone(m)
}

func (p *Parts) count(part *Part, by int) {
	counted(p.tables, part.shared.tables, by)
	counted(p.sets, part.shared.sets, by)
	counted(p.chains, part.shared.chains, by)
	counted(p.helpers, part.shared.helpers, by)
}

func counted[K comparable](in map[K]int, list []K, by int) {
	for _, k := range list {
		if in[k] += by; in[k] == 0 {
			delete(in, k)
		}
	}
}

// Part returns the rules of a part, which must not be modified, or nil.
func (p *Parts) Part(number uint32) *Ruleset {
	if part := p.parts[number]; part != nil {
		return part.rules
	}
	return nil
}

// Has reports whether a set without an owner exists.
func (p *Parts) Has(set ID) bool { return p.sets[set] > 0 }

// Whole returns the ruleset as one, which must not be modified. The first call takes as long
// as making it.
func (p *Parts) Whole() *Ruleset { return p.whole() }

func (p *Parts) merge() *Ruleset {
	all := &Ruleset{}
	for _, number := range slices.Sorted(maps.Keys(p.parts)) {
		all.merge(p.parts[number].rules)
	}
	return all
}

// merge adds the objects of other. It does not modify the parts of other.
func (r *Ruleset) merge(other *Ruleset) {
	for id, s := range other.Sets {
		to := r.SetOf(id, func() *Set { return s.empty() })
		maps.Copy(to.Elements, s.Elements)
	}
	for id, c := range other.Chains {
		r.ChainOf(id, func() *Chain { return c })
	}
	for id, h := range other.Helpers {
		r.AddHelper(id, *h)
	}
}

// empty returns the definition of a set.
func (s *Set) empty() *Set {
	e := *s
	e.Elements = nil
	return &e
}

// Tables returns the tables that contain objects, sorted.
func (p *Parts) Tables() []Table {
	return slices.SortedFunc(maps.Keys(p.tables), func(a, b Table) int {
		return cmp.Or(cmp.Compare(a.Family, b.Family), cmp.Compare(a.Name, b.Name))
	})
}

// Digest returns a digest of the parts and their numbers, 32 hexadecimal digits. It does not
// cover owners.
func Digest(parts map[uint32]*Part) string {
	h := sha256.New()
	var b []byte
	for _, number := range slices.Sorted(maps.Keys(parts)) {
		b = append(binary.BigEndian.AppendUint32(b[:0], number), parts[number].digest[:]...)
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// DiffParts is Diff of the whole rulesets. It looks at the parts that they do not have in
// common.
func DiffParts(have, want *Parts) (b *Batch, ok bool) {
	old, now := have.except(want), want.except(have)
	have.define(old, now)
	want.define(now, old)
	if !compatible(old, now) {
		return nil, false
	}
	return diffOf(old, now, nil, have.Tables(), want.Tables()), true
}

// except returns the rules of the parts that other has not.
func (p *Parts) except(other *Parts) *Ruleset {
	all := &Ruleset{}
	for number, part := range p.parts {
		if other.parts[number] != part {
			all.merge(part.rules)
		}
	}
	return all
}

// define adds to some of the rules of p the objects of other that further parts of p have,
// without elements.
func (p *Parts) define(some, other *Ruleset) {
	for id, s := range other.Sets {
		if p.sets[id] > 0 {
			some.SetOf(id, s.empty)
		}
	}
	for id, c := range other.Chains {
		if p.chains[id] > 0 {
			some.ChainOf(id, func() *Chain { return c })
		}
	}
	for id, h := range other.Helpers {
		if p.helpers[id] > 0 {
			some.AddHelper(id, *h)
		}
	}
}
