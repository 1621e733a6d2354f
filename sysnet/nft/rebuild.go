package nft

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Present holds the definitions in some tables, without elements and rules.
type Present struct {
	tables   []Table
	chains   []ID
	helpers  []ID
	sets     map[ID]shape
	setOrder []ID
}

// shape is the compared part of the definition of a set or map.
type shape struct {
	kind, types, data string
	size              uint32
}

// Present reads the definitions in the existing ones of the tables.
func (r *Runner) Present(ctx context.Context, own []Table) (*Present, error) {
	there, err := r.Tables(ctx)
	if err != nil {
		return nil, err
	}
	p := &Present{sets: map[ID]shape{}}
	for _, t := range own {
		if !there[t] {
			continue
		}
		p.tables = append(p.tables, t)
		for _, list := range listings(t) {
			out, err := r.run(ctx, listTime, nil, append([]string{"-j", "-t", "list"}, list...)...)
			if err != nil {
				return nil, err
			}
			if err := p.read(t, out); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// listings returns the commands that list the objects of a table. Objects of other tables may
// be among them. These commands are faster than a list of the table, which has all rules.
func listings(t Table) [][]string {
	all := [][]string{{"chains", t.Family}, {"sets", t.Family}, {"maps", t.Family}}
	if t.Family != "netdev" { // which has no helpers
		all = append(all, []string{"ct", "helpers", "table", t.Family, t.Name})
	}
	return all
}

func (p *Present) read(t Table, listing []byte) error {
	type object struct {
		Family string          `json:"family"`
		Table  string          `json:"table"`
		Name   string          `json:"name"`
		Type   json.RawMessage `json:"type"`
		Map    json.RawMessage `json:"map"`
		Size   uint32          `json:"size"`
	}
	var doc struct {
		Objects []struct {
			Chain, Set, Map *object
			Helper          *object `json:"ct helper"`
		} `json:"nftables"`
	}
	if err := json.Unmarshal(listing, &doc); err != nil {
		return fmt.Errorf("listing of nft: %w", err)
	}
	of := func(o *object) bool { return o != nil && t == Table{o.Family, o.Table} }
	for _, o := range doc.Objects {
		switch {
		case of(o.Chain):
			p.chains = append(p.chains, ID{t, o.Chain.Name})
		case of(o.Helper):
			p.helpers = append(p.helpers, ID{t, o.Helper.Name})
		case of(o.Set):
			p.set(ID{t, o.Set.Name}, shape{"set", joined(o.Set.Type), "", o.Set.Size})
		case of(o.Map):
			p.set(ID{t, o.Map.Name}, shape{"map", joined(o.Map.Type), joined(o.Map.Map), o.Map.Size})
		}
	}
	return nil
}

func (p *Present) set(id ID, s shape) {
	p.sets[id] = s
	p.setOrder = append(p.setOrder, id)
}

// joined returns a type, one word or a list of them, in the format of rulesets.
func joined(raw json.RawMessage) string {
	var word string
	if json.Unmarshal(raw, &word) == nil {
		return word
	}
	var words []string
	_ = json.Unmarshal(raw, &words) // otherwise it is not one of our types
	return strings.Join(words, " . ")
}

// stays reports whether a learned set of want exists with the same definition.
func (p *Present) stays(id ID, s *Set) bool {
	have, there := p.sets[id]
	return there && s.Learned && have.kind == s.kind() && have.types == s.Type && have.data == s.Data &&
		strings.Contains(s.Options, fmt.Sprintf("size %d;", have.size))
}

// Rebuild returns the transaction after which the tables contain exactly want,
// independent of their present content. It recreates everything except learned sets, to
// which packets keep adding elements. carried is merged into the other sets.
func Rebuild(p *Present, want *Ruleset, carried Carried) *Batch {
	b, have := &Batch{}, &Ruleset{Sets: map[ID]*Set{}}
	needed := want.Tables()
	for _, id := range p.chains {
		if slices.Contains(needed, id.Table) {
			b.add(0, "flush chain "+id.String())
		}
	}
	for _, id := range p.setOrder {
		if s := want.Sets[id]; s != nil && p.stays(id, s) {
			have.Sets[id] = s
		} else if slices.Contains(needed, id.Table) {
			b.add(0, "delete "+p.sets[id].kind+" "+id.String())
		}
	}
	for _, id := range p.chains {
		if slices.Contains(needed, id.Table) {
			b.add(0, "delete chain "+id.String())
		}
	}
	for _, id := range p.helpers {
		if slices.Contains(needed, id.Table) {
			b.add(0, "delete ct helper "+id.String())
		}
	}
	for _, t := range p.tables {
		if !slices.Contains(needed, t) {
			b.add(0, "delete table "+t.String())
		}
	}
	b.append(diff(have, want, carried))
	return b
}

// Stay returns the learned sets of want that a Rebuild keeps.
func (p *Present) Stay(want *Ruleset) map[ID]bool {
	out := map[ID]bool{}
	for id, s := range want.Sets {
		out[id] = p.stays(id, s)
	}
	return out
}
