package nft

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Present is what tables hold, without elements and rules.
type Present struct {
	tables   []Table
	chains   []ID
	helpers  []ID
	sets     map[ID]shape
	setOrder []ID
}

// shape is the definition of a set or map, as far as it is compared.
type shape struct {
	kind, types, data string
	size              uint32
}

// Present lists what is in those of the tables that exist.
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
		out, err := r.run(ctx, listTime, nil, "-j", "-t", "list", "table", t.Family, t.Name)
		if err != nil {
			return nil, err
		}
		if err := p.read(t, out); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *Present) read(t Table, listing []byte) error {
	type object struct {
		Name string          `json:"name"`
		Type json.RawMessage `json:"type"`
		Map  json.RawMessage `json:"map"`
		Size uint32          `json:"size"`
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
	p.tables = append(p.tables, t)
	for _, o := range doc.Objects {
		switch {
		case o.Chain != nil:
			p.chains = append(p.chains, ID{t, o.Chain.Name})
		case o.Helper != nil:
			p.helpers = append(p.helpers, ID{t, o.Helper.Name})
		case o.Set != nil:
			p.set(ID{t, o.Set.Name}, shape{"set", joined(o.Set.Type), "", o.Set.Size})
		case o.Map != nil:
			p.set(ID{t, o.Map.Name}, shape{"map", joined(o.Map.Type), joined(o.Map.Map), o.Map.Size})
		}
	}
	return nil
}

func (p *Present) set(id ID, s shape) {
	p.sets[id] = s
	p.setOrder = append(p.setOrder, id)
}

// joined writes a type, one word or a list of them, as rulesets do.
func joined(raw json.RawMessage) string {
	var word string
	if json.Unmarshal(raw, &word) == nil {
		return word
	}
	var words []string
	_ = json.Unmarshal(raw, &words) // what is neither is no type of ours
	return strings.Join(words, " . ")
}

// stays reports whether a learned set of want is there already as it shall be.
func (p *Present) stays(id ID, s *Set) bool {
	have, there := p.sets[id]
	return there && s.Learned && have.kind == s.kind() && have.types == s.Type && have.data == s.Data &&
		strings.Contains(s.Options, fmt.Sprintf("size %d;", have.size))
}

// Rebuild is the transaction after which the tables hold want and nothing else,
// whatever they held: everything is made anew but learned sets, which packets go
// on adding to meanwhile. carried goes into the others.
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

// Stay are the learned sets of want a Rebuild leaves alone.
func (p *Present) Stay(want *Ruleset) map[ID]bool {
	out := map[ID]bool{}
	for id, s := range want.Sets {
		out[id] = p.stays(id, s)
	}
	return out
}
