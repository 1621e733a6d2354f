package kernel

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Learned implements Filter.
func (n *Nftables) Learned(ctx context.Context, f *farm.Farm) ([]Session, error) {
	id, set, kind := rules.Sessions(f)
	entries, err := n.run.Elements(ctx, id, set)
	if err != nil {
		return nil, err
	}
	if set.Type != kind {
		if entries, err = n.named(ctx, id, kind, entries); err != nil {
			return nil, err
		}
	}
	out := make([]Session, 0, len(entries))
	for _, e := range entries {
		if s, ok := sessionOf(e); ok {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b Session) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

// named gives entries of a map by hashes the keys they are of.
func (n *Nftables) named(ctx context.Context, id nft.ID, kind string, entries []nft.Entry) (out []nft.Entry, err error) {
	by := map[string]nft.Entry{}
	for _, e := range entries {
		by[e.Key] = e
	}
	keys, err := n.run.Elements(ctx, rules.Clients(id), rules.ClientSet(kind, 0))
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		hash, err := hashOf(k.Key)
		if err != nil {
			return nil, err
		}
		if e, ok := by[nft.Mark(hash)]; ok {
			e.Key = k.Key
			out = append(out, e)
		}
	}
	return out, nil
}

// place is where the element of a key is.
func place(f *farm.Farm, key string) (id nft.ID, set *nft.Set, in, kind string, err error) {
	id, set, kind = rules.Sessions(f)
	if set.Type == kind {
		return id, set, key, kind, nil
	}
	hash, err := hashOf(key)
	return id, set, nft.Mark(hash), kind, err
}

// Find implements Filter.
func (n *Nftables) Find(ctx context.Context, f *farm.Farm, key string) (Session, bool, error) {
	id, set, in, _, err := place(f, key)
	if err != nil {
		return Session{}, false, err
	}
	e, ok, err := n.run.Find(ctx, id, set, in)
	if err != nil || !ok {
		return Session{}, false, err
	}
	e.Key = key
	s, ok := sessionOf(e)
	return s, ok, nil
}

// Learn implements Filter.
func (n *Nftables) Learn(ctx context.Context, f *farm.Farm, list ...Session) error {
	id, set, kind := rules.Sessions(f)
	known, marks := map[string]nft.Element{}, map[string]nft.Element{}
	for _, s := range list {
		_, _, in, _, err := place(f, s.Key)
		if err != nil {
			return err
		}
		timeout := fmt.Sprintf("timeout %ds", max(1, int(s.TTL/time.Second)))
		known[s.Key] = nft.Element{State: timeout}
		marks[in] = nft.Element{State: timeout, Value: rules.MarkText(s.Backend)}
	}
	if set.Type != kind {
		if err := n.run.Put(ctx, rules.Clients(id), rules.ClientSet(kind, f.ID), known); err != nil {
			return err
		}
	}
	return n.run.Put(ctx, id, set, marks)
}

// Forget implements Filter. Of a farm by hashes the keys stay in the set of
// clients: a key without a mark is no session.
func (n *Nftables) Forget(ctx context.Context, f *farm.Farm, keys ...string) (bool, error) {
	id, set, _ := rules.Sessions(f)
	list := map[string]bool{} // two keys may have one hash
	for _, key := range keys {
		_, _, in, _, err := place(f, key)
		if err != nil {
			return false, err
		}
		list[in] = true
	}
	return n.run.Remove(ctx, id, set, slices.Sorted(maps.Keys(list))...)
}

// ForgetAll implements Filter.
func (n *Nftables) ForgetAll(ctx context.Context, f *farm.Farm) error {
	id, set, _ := rules.Sessions(f)
	return n.run.Empty(ctx, id, set)
}

// sessionOf reads an element of a map of sessions.
func sessionOf(e nft.Entry) (Session, bool) {
	id, ok := backendOf(e.Value)
	return Session{Key: e.Key, Backend: id, TTL: time.Duration(e.Expires) * time.Second}, ok
}
