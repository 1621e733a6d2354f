package nft

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Entry is one element of a set in the kernel.
type Entry struct {
	// Key and Value use the syntax of nft: "10.0.0.1 . 80", "0x5c000001", "goto farm7".
	// Value is empty for sets.
	Key, Value string
	// Timeout and Expires are in seconds; 0 if the element does not expire.
	Timeout, Expires uint32
	Packets, Bytes   uint64
}

// Elements lists a set or map. It returns nil if the set does not exist.
func (r *Runner) Elements(ctx context.Context, id ID, s *Set) ([]Entry, error) {
	out, err := r.run(ctx, listTime, nil, "-j", "list", s.kind(), id.Family, id.Table.Name, id.Name)
	if err != nil {
		if IsMissing(err) {
			return nil, nil
		}
		return nil, err
	}
	return ParseElements(out, s)
}

// ParseElements parses the elements of the single set in a listing of `nft -j`. The types
// of s determine the format of numbers.
func ParseElements(listing []byte, s *Set) ([]Entry, error) {
	var doc struct {
		Objects []struct {
			Set, Map *struct {
				Elements []json.RawMessage `json:"elem"`
			}
		} `json:"nftables"`
	}
	if err := json.Unmarshal(listing, &doc); err != nil {
		return nil, fmt.Errorf("listing of nft: %w", err)
	}
	var out []Entry
	for _, o := range doc.Objects {
		list := o.Set
		if list == nil {
			list = o.Map
		}
		if list == nil {
			continue
		}
		for _, raw := range list.Elements {
			e, err := parseElement(raw, s)
			if err != nil {
				return nil, fmt.Errorf("listing of nft: %w", err)
			}
			out = append(out, e)
		}
	}
	return out, nil
}

// parseElement parses KEY or [KEY, VALUE], where KEY may be {"elem": {"val": KEY, …}}.
func parseElement(raw json.RawMessage, s *Set) (e Entry, err error) {
	key, value := raw, json.RawMessage(nil)
	if s.Data != "" {
		var pair []json.RawMessage
		if err := json.Unmarshal(raw, &pair); err != nil || len(pair) != 2 {
			return e, fmt.Errorf("no element of a map: %.80s", raw)
		}
		key, value = pair[0], pair[1]
	}
	var with struct {
		Elem *struct {
			Val     json.RawMessage `json:"val"`
			Timeout uint32          `json:"timeout"`
			Expires uint32          `json:"expires"`
			Counter struct {
				Packets uint64 `json:"packets"`
				Bytes   uint64 `json:"bytes"`
			} `json:"counter"`
		} `json:"elem"`
	}
	if bytes.HasPrefix(key, []byte("{")) {
		if err := json.Unmarshal(key, &with); err != nil {
			return e, err
		}
	}
	if w := with.Elem; w != nil {
		key = w.Val
		e.Timeout, e.Expires, e.Packets, e.Bytes = w.Timeout, w.Expires, w.Counter.Packets, w.Counter.Bytes
	}
	if e.Key, err = written(key, s.Type); err != nil {
		return e, err
	}
	switch s.Data {
	case "":
	case "verdict":
		e.Value, err = verdict(value)
	default:
		e.Value, err = written(value, s.Data)
	}
	return e, err
}

// verdict parses {"goto": {"target": "farm7"}}. It returns "" for verdicts without a
// target.
func verdict(raw json.RawMessage) (string, error) {
	var v map[string]*struct {
		Target string `json:"target"`
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return "", err
	}
	for kind, to := range v {
		if to != nil {
			return kind + " " + to.Target, nil
		}
	}
	return "", nil
}

// written returns a value of the given type in the syntax of nft.
func written(raw json.RawMessage, types string) (string, error) {
	kinds := strings.Split(types, " . ")
	parts := []json.RawMessage{raw}
	if len(kinds) > 1 {
		var c struct {
			Concat []json.RawMessage `json:"concat"`
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			return "", err
		}
		parts = c.Concat
	}
	if len(parts) != len(kinds) {
		return "", fmt.Errorf("%d values for %q: %.80s", len(parts), types, raw)
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		text, err := scalar(p, kinds[i])
		if err != nil {
			return "", err
		}
		texts[i] = text
	}
	return strings.Join(texts, " . "), nil
}

// scalar parses a text, a number or a range of them.
func scalar(raw json.RawMessage, kind string) (string, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var r struct {
		Range []json.RawMessage `json:"range"`
	}
	if bytes.HasPrefix(raw, []byte("{")) && json.Unmarshal(raw, &r) == nil && len(r.Range) == 2 {
		first, err := scalar(r.Range[0], kind)
		if err != nil {
			return "", err
		}
		last, err := scalar(r.Range[1], kind)
		return first + "-" + last, err
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(raw)), 10, 32)
	if err != nil {
		return "", fmt.Errorf("neither text nor number: %.80s", raw)
	}
	if kind == "mark" {
		return Mark(uint32(n)), nil
	}
	return strconv.FormatUint(n, 10), nil
}

// Mark returns a mark in the format of rulesets and entries.
func Mark(m uint32) string { return fmt.Sprintf("0x%08x", m) }

// Tables returns the existing tables.
func (r *Runner) Tables(ctx context.Context) (map[Table]bool, error) {
	out, err := r.run(ctx, listTime, nil, "-j", "list", "tables")
	if err != nil {
		return nil, err
	}
	var doc struct {
		Objects []struct {
			Table *struct{ Family, Name string } `json:"table"`
		} `json:"nftables"`
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		return nil, fmt.Errorf("listing of nft: %w", err)
	}
	found := map[Table]bool{}
	for _, o := range doc.Objects {
		if o.Table != nil {
			found[Table{o.Table.Family, o.Table.Name}] = true
		}
	}
	return found, nil
}

// Contents counts the objects of a table by kind: "chain", "rule", "set", "map", "ct
// helper".
func (r *Runner) Contents(ctx context.Context, t Table) (map[string]int, error) {
	out, err := r.run(ctx, listTime, nil, "-j", "-t", "list", "table", t.Family, t.Name)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Objects []map[string]json.RawMessage `json:"nftables"`
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		return nil, fmt.Errorf("listing of nft: %w", err)
	}
	counts := map[string]int{}
	for _, o := range doc.Objects {
		for kind := range o {
			counts[kind]++
		}
	}
	return counts, nil
}
