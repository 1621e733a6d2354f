package nft

import (
	"context"
	"errors"
	"strings"
)

// Packets add elements, and elements expire at any time. A transaction is atomic, so one
// expired element would make a change of thousands fail. Changing them individually takes
// milliseconds each. Put and Remove therefore list the elements and add them again, which
// leaves existing ones unchanged, and then delete them. That delete cannot fail.

// changeTries bounds the attempts of a change that conflicts with concurrent changes by
// packets.
const changeTries = 5

// Put sets elements to the given values, whether they exist or not. s is the definition
// of the set.
func (r *Runner) Put(ctx context.Context, id ID, s *Set, list map[string]Element) error {
	if len(list) == 1 {
		return r.replace(ctx, id, s, list)
	}
	b := &Batch{}
	b.elements("add", id, s, list)
	err := r.Apply(ctx, b)
	for range changeTries {
		if !isThere(err) {
			return err
		}
		there, failed := r.present(ctx, id, s, list)
		if failed != nil {
			return failed
		}
		b := withdraw(id, s, there)
		b.elements("add", id, s, list)
		err = r.Apply(ctx, b)
	}
	return err
}

// replace sets one element.
func (r *Runner) replace(ctx context.Context, id ID, s *Set, one map[string]Element) error {
	b := &Batch{}
	b.elements("delete", id, s, one)
	b.elements("add", id, s, one)
	err := r.Apply(ctx, b)
	if IsMissing(err) { // it did not exist
		b = &Batch{}
		b.elements("add", id, s, one)
		err = r.Apply(ctx, b)
	}
	return err
}

// Remove deletes elements and reports whether at least one existed. s is the definition
// of the set.
func (r *Runner) Remove(ctx context.Context, id ID, s *Set, keys ...string) (bool, error) {
	list := map[string]Element{}
	for _, k := range keys {
		list[k] = Element{}
	}
	b := &Batch{}
	b.elements("delete", id, s, list)
	err := r.Apply(ctx, b)
	if err == nil || IsMissing(err) && len(keys) == 1 {
		return err == nil && len(keys) > 0, nil
	}
	for range changeTries {
		if !IsMissing(err) && !isThere(err) {
			return false, err
		}
		there, failed := r.present(ctx, id, s, list)
		if failed != nil || len(there) == 0 {
			return false, failed
		}
		if err = r.Apply(ctx, withdraw(id, s, there)); err == nil {
			return true, nil
		}
	}
	return false, err
}

// withdraw returns the transaction that deletes elements, even if some expired meanwhile.
func withdraw(id ID, s *Set, there map[string]Element) *Batch {
	b := &Batch{}
	b.elements("add", id, s, there)
	b.elements("delete", id, s, there)
	return b
}

// present returns the elements of the set whose key is in list.
func (r *Runner) present(ctx context.Context, id ID, s *Set, list map[string]Element) (map[string]Element, error) {
	entries, err := r.Elements(ctx, id, s)
	there := map[string]Element{}
	for _, e := range entries {
		if _, meant := list[e.Key]; meant {
			there[e.Key] = Element{Value: e.Value}
		}
	}
	return there, err
}

// isThere reports whether nft failed because an element exists with another value, or
// because the error messages of the kernel overflowed its buffer.
func isThere(err error) bool {
	var e *Error
	return errors.As(err, &e) && (strings.Contains(e.Reason, "File exists") || strings.Contains(e.Reason, "Device or resource busy") ||
		strings.Contains(e.Reason, "No buffer space available"))
}
