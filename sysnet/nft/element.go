package nft

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Find returns the element with the key. ok is false if the element or the set does not
// exist.
func (r *Runner) Find(ctx context.Context, id ID, s *Set, key string) (e Entry, ok bool, err error) {
	out, err := r.run(ctx, listTime, nil, "get", "element", id.Family, id.Table.Name, id.Name, "{ "+key+" }")
	if IsMissing(err) {
		return e, false, nil
	}
	if err != nil {
		return e, false, err
	}
	e, err = parseFound(string(out))
	return e, err == nil, err
}

// parseFound parses the output of `get element`, which nft writes in its own language
// even with -j: "elements = { KEY timeout 1m expires 59s712ms : VALUE }".
func parseFound(text string) (e Entry, err error) {
	_, text, ok := strings.Cut(text, "elements = { ")
	text, _, closed := strings.Cut(text, " }")
	if !ok || !closed {
		return e, errors.New("answer of nft: no element in it")
	}
	head, value, _ := strings.Cut(text, " : ")
	words := strings.Fields(head)
	for i := 0; i+1 < len(words); i++ {
		switch words[i] {
		case "timeout":
			e.Timeout = seconds(words[i+1])
		case "expires":
			e.Expires = seconds(words[i+1])
		default:
			continue
		}
		words = append(words[:i], words[i+2:]...)
		i--
	}
	e.Key, e.Value = strings.Join(words, " "), value
	if e.Key == "" {
		return e, errors.New("answer of nft: an element without a key")
	}
	return e, nil
}

// seconds parses a duration of nft, "1d2h3m4s5ms", in whole seconds.
func seconds(text string) uint32 {
	total, n := 0, 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= '0' && c <= '9' {
			n = min(n*10+int(c-'0'), 1<<30)
			continue
		}
		unit := map[byte]int{'d': 86400, 'h': 3600, 'm': 60, 's': 1}[c]
		if strings.HasPrefix(text[i:], "ms") {
			unit = 0
			i++
		}
		total, n = min(total+n*unit, 1<<31), 0
	}
	return uint32(total)
}

// Empty deletes all elements of a set.
func (r *Runner) Empty(ctx context.Context, id ID, s *Set) error {
	b := &Batch{}
	b.add(0, "flush "+s.kind()+" "+id.String())
	err := r.Apply(ctx, b)
	if IsMissing(err) {
		return nil
	}
	return err
}

// Chain returns the chain in the syntax of nft, or "" if it does not exist.
func (r *Runner) Chain(ctx context.Context, id ID) (string, error) {
	out, err := r.run(ctx, listTime, nil, "list", "chain", id.Family, id.Table.Name, id.Name)
	if IsMissing(err) {
		return "", nil
	}
	return string(out), err
}

// IsMissing reports whether nft failed because an object does not exist.
func IsMissing(err error) bool {
	var e *Error
	return errors.As(err, &e) && strings.Contains(e.Reason, "No such file or directory")
}

// Hold replaces the elements of a learned set by keys, each with the timeout last. A
// missing set is ignored.
func (r *Runner) Hold(ctx context.Context, id ID, s *Set, keys map[string]bool, last time.Duration) error {
	there, err := r.Elements(ctx, id, s)
	if err != nil || (len(there) == 0 && len(keys) == 0) {
		return err
	}
	old, wanted := map[string]Element{}, map[string]Element{}
	for _, e := range there {
		old[e.Key] = Element{}
	}
	for key := range keys {
		wanted[key] = Element{State: fmt.Sprintf("timeout %ds", int(last/time.Second))}
	}
	b := &Batch{}
	b.elements("delete", id, s, old)
	b.elements("add", id, s, wanted)
	err = r.Apply(ctx, b)
	if IsMissing(err) { // an element expired meanwhile; the next call succeeds
		return nil
	}
	return err
}

// Renew deletes keys of a learned set and adds others with the timeout last. If one of
// the keys to delete no longer exists, the set stays unchanged. s is its definition.
func (r *Runner) Renew(ctx context.Context, id ID, s *Set, remove, add []string, last time.Duration) error {
	gone, fresh := map[string]Element{}, map[string]Element{}
	for _, key := range remove {
		gone[key] = Element{}
	}
	for _, key := range add {
		fresh[key] = Element{State: fmt.Sprintf("timeout %ds", int(last/time.Second))}
	}
	b := &Batch{}
	b.elements("delete", id, s, gone)
	b.elements("add", id, s, fresh)
	err := r.Apply(ctx, b)
	if IsMissing(err) {
		return nil
	}
	return err
}
