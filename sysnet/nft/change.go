package nft

import (
	"context"
	"errors"
	"strings"
)

// Elements that packets add come and go by themselves. The kernel takes a
// transaction as a whole or not at all, so one that expired would spoil a change
// of thousands, and trying them one by one takes milliseconds for each. What is
// there is therefore looked up, added again as it is, which does nothing to what
// is still there, and deleted then: that cannot fail for an element that goes
// meanwhile.

// changeTries bounds how often a change is tried that met elements which packets
// changed since they were looked up.
const changeTries = 5

// Put makes elements what they are here, whatever they were before. s is the
// definition of the set.
func (r *Runner) Put(ctx context.Context, id ID, s *Set, list map[string]Element) error {
	if len(list) == 1 {
		return r.replace(ctx, id, list)
	}
	b := &Batch{}
	b.elements("add", id, list, false)
	err := r.Apply(ctx, b)
	for range changeTries {
		if !isThere(err) {
			return err
		}
		there, failed := r.present(ctx, id, s, list)
		if failed != nil {
			return failed
		}
		b := withdraw(id, there)
		b.elements("add", id, list, false)
		err = r.Apply(ctx, b)
	}
	return err
}

// replace puts one element.
func (r *Runner) replace(ctx context.Context, id ID, one map[string]Element) error {
	b := &Batch{}
	b.elements("delete", id, one, true)
	b.elements("add", id, one, false)
	err := r.Apply(ctx, b)
	if IsMissing(err) { // there was none to delete
		b = &Batch{}
		b.elements("add", id, one, false)
		err = r.Apply(ctx, b)
	}
	return err
}

// Remove deletes elements and reports whether one was there. s is the definition
// of the set.
func (r *Runner) Remove(ctx context.Context, id ID, s *Set, keys ...string) (bool, error) {
	list := map[string]Element{}
	for _, k := range keys {
		list[k] = Element{}
	}
	b := &Batch{}
	b.elements("delete", id, list, true)
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
		if err = r.Apply(ctx, withdraw(id, there)); err == nil {
			return true, nil
		}
	}
	return false, err
}

// withdraw deletes elements that were there a moment ago.
func withdraw(id ID, there map[string]Element) *Batch {
	b := &Batch{}
	b.elements("add", id, there, false)
	b.elements("delete", id, there, true)
	return b
}

// present are the elements of the set that have a key of the list.
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

// isThere reports whether nft said that something exists already, an element of
// a map that has another value, or that it could not hear all the kernel
// complained about.
func isThere(err error) bool {
	var e *Error
	return errors.As(err, &e) && (strings.Contains(e.Reason, "File exists") || strings.Contains(e.Reason, "Device or resource busy") ||
		strings.Contains(e.Reason, "No buffer space available"))
}
