package nft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Own lists the sets and maps that exist in the tables.
func (r *Runner) Own(ctx context.Context, tables []Table) ([]ID, error) {
	out, err := r.run(ctx, listTime, nil, "-j", "-t", "list", "sets")
	if err != nil {
		return nil, err
	}
	maps, err := r.run(ctx, listTime, nil, "-j", "-t", "list", "maps")
	if err != nil {
		return nil, err
	}
	var ids []ID
	for _, listing := range [][]byte{out, maps} {
		list, err := parseNames(listing)
		if err != nil {
			return nil, err
		}
		for _, id := range list {
			if slices.Contains(tables, id.Table) {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}

func parseNames(listing []byte) ([]ID, error) {
	type named struct{ Family, Table, Name string }
	var doc struct {
		Objects []struct{ Set, Map *named } `json:"nftables"`
	}
	if err := json.Unmarshal(listing, &doc); err != nil {
		return nil, fmt.Errorf("listing of nft: %w", err)
	}
	var out []ID
	for _, o := range doc.Objects {
		n := o.Set
		if n == nil {
			n = o.Map
		}
		if n != nil {
			out = append(out, ID{Table{n.Family, n.Table}, n.Name})
		}
	}
	return out, nil
}

// Carried reads the state that a Load of want carries over: elements of learned sets with
// their remaining time, and counters of elements. Sets in stay are omitted.
func (r *Runner) Carried(ctx context.Context, tables []Table, want *Ruleset, stay map[ID]bool) (Carried, error) {
	own, err := r.Own(ctx, tables)
	if err != nil {
		return nil, err
	}
	out := Carried{}
	for _, id := range own {
		s := want.Sets[id]
		counts := s != nil && strings.Contains(s.Options, "counter;")
		if s == nil || stay[id] || (!s.Learned && !counts) {
			continue
		}
		entries, err := r.Elements(ctx, id, s)
		var refused *Error
		if errors.As(err, &refused) { // a map that used to be a set, or was deleted meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		list := map[string]Element{}
		for _, e := range entries {
			switch {
			case counts:
				list[e.Key] = Element{State: fmt.Sprintf("counter packets %d bytes %d", e.Packets, e.Bytes)}
			case e.Timeout > 0:
				list[e.Key] = Element{State: fmt.Sprintf("timeout %ds expires %ds", e.Timeout, max(1, min(e.Expires, e.Timeout))), Value: e.Value}
			}
		}
		out[id] = list
	}
	return out, nil
}
