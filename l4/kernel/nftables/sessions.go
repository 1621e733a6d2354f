package nftables

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Learned returns the sessions of a farm made by packets or by Learn.
func (n *Filter) Learned(ctx context.Context, f *farm.Farm) ([]ctl.KernelSession, error) {
	m := rules.Sessions(f)
	entries, err := n.run.Elements(ctx, m.ID, m.Map)
	if err != nil {
		return nil, err
	}
	if m.Clients != nil {
		if entries, err = n.named(ctx, m, entries); err != nil {
			return nil, err
		}
	}
	out := make([]ctl.KernelSession, 0, len(entries))
	for _, e := range entries {
		if s, ok := sessionOf(e); ok {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b ctl.KernelSession) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

// named replaces the hashes of map entries by their keys.
func (n *Filter) named(ctx context.Context, m *rules.SessionMap, entries []nft.Entry) (out []nft.Entry, err error) {
	by := map[string]nft.Entry{}
	for _, e := range entries {
		by[e.Key] = e
	}
	keys, err := n.run.Elements(ctx, m.ClientsID, m.Clients)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		in, err := m.Element(k.Key)
		if err != nil {
			return nil, err
		}
		if e, ok := by[in]; ok {
			e.Key = k.Key
			out = append(out, e)
		}
	}
	return out, nil
}

// Find returns the session of one key.
func (n *Filter) Find(ctx context.Context, f *farm.Farm, key string) (ctl.KernelSession, bool, error) {
	m := rules.Sessions(f)
	in, err := m.Element(key)
	if err != nil {
		return ctl.KernelSession{}, false, err
	}
	e, ok, err := n.run.Find(ctx, m.ID, m.Map, in)
	if err != nil || !ok {
		return ctl.KernelSession{}, false, err
	}
	e.Key = key
	s, ok := sessionOf(e)
	return s, ok, nil
}

// Learn adds sessions as if packets had made them.
func (n *Filter) Learn(ctx context.Context, f *farm.Farm, list ...ctl.KernelSession) error {
	m := rules.Sessions(f)
	known, marks := map[string]nft.Element{}, map[string]nft.Element{}
	for _, s := range list {
		in, err := m.Element(s.Key)
		if err != nil {
			return err
		}
		timeout := fmt.Sprintf("timeout %ds", max(1, int(s.TTL/time.Second)))
		known[s.Key] = nft.Element{State: timeout}
		marks[in] = nft.Element{State: timeout, Value: rules.MarkText(s.Backend)}
	}
	if m.Clients != nil {
		if err := n.run.Put(ctx, m.ClientsID, m.Clients, known); err != nil {
			return err
		}
	}
	return n.run.Put(ctx, m.ID, m.Map, marks)
}

// Forget deletes sessions and reports whether there were any. In a farm that keeps hashes
// the keys stay in the set of clients: a key without a mark is no session.
func (n *Filter) Forget(ctx context.Context, f *farm.Farm, keys ...string) (bool, error) {
	m := rules.Sessions(f)
	list := map[string]bool{} // two keys may have the same hash
	for _, key := range keys {
		in, err := m.Element(key)
		if err != nil {
			return false, err
		}
		list[in] = true
	}
	return n.run.Remove(ctx, m.ID, m.Map, slices.Sorted(maps.Keys(list))...)
}

// ForgetAll deletes all sessions of a farm.
func (n *Filter) ForgetAll(ctx context.Context, f *farm.Farm) error {
	m := rules.Sessions(f)
	return n.run.Empty(ctx, m.ID, m.Map)
}

// sessionOf reads an element of a session map.
func sessionOf(e nft.Entry) (ctl.KernelSession, bool) {
	id, ok := backendOf(e.Value)
	return ctl.KernelSession{Key: e.Key, Backend: id, TTL: time.Duration(e.Expires) * time.Second}, ok
}
