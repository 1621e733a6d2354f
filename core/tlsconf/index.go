package tlsconf

import (
	"bytes"
	"slices"
)

// index finds the certificates of an ordered list that cover a name. A query costs two
// map lookups and no allocation, regardless of the length of the list.
//
// For certificates that cover a name by the same pattern it keeps the first of each
// kind of key. A later one of the same kind could never be chosen, because client
// support depends only on the kind.
type index struct {
	exact, wildcard map[string][]int // positions in the list, ascending
}

// newIndex builds the index of a list given as the names and the kind of key of each
// entry.
func newIndex(names [][]pattern, kinds []keyKind) index {
	ix := index{make(map[string][]int), make(map[string][]int)}
	for i, patterns := range names {
		for _, p := range patterns {
			m := ix.exact
			if p.wildcard {
				m = ix.wildcard
			}
			if known := m[p.key]; !slices.ContainsFunc(known, func(k int) bool { return kinds[k] == kinds[i] }) {
				m[p.key] = append(known, i)
			}
		}
	}
	return ix
}

// find returns the positions that cover name exactly and those that cover it by
// wildcard. The slices belong to the index.
func (ix *index) find(name string) (exact, wildcard []int) {
	var buf [maxName]byte
	key := normalize(&buf, name)
	if key == nil {
		return nil, nil
	}
	exact = ix.exact[string(key)]
	if dot := bytes.IndexByte(key, '.'); dot > 0 && len(ix.wildcard) > 0 && !isAddress(key) {
		wildcard = ix.wildcard[string(key[dot+1:])]
	}
	return exact, wildcard
}

// candidates are the certificates for one name.
type candidates struct {
	// exact and wildcard are the results of index.find.
	exact, wildcard []int
}

// first returns the lowest position, or -1 if no certificate covers the name.
func (c candidates) first() int {
	switch {
	case len(c.exact) == 0 && len(c.wildcard) == 0:
		return -1
	case len(c.exact) == 0:
		return c.wildcard[0]
	case len(c.wildcard) == 0:
		return c.exact[0]
	}
	return min(c.exact[0], c.wildcard[0])
}

// single reports whether there is at most one candidate to choose from.
func (c candidates) single() bool {
	return len(c.exact)+len(c.wildcard) == 1 ||
		len(c.exact) == 1 && len(c.wildcard) == 1 && c.exact[0] == c.wildcard[0]
}

// choose returns the position of the certificate for a client by the rules in the package
// comment. The function supports reports whether the client supports a certificate; kinds are
// the kinds in the list.
func (c candidates) choose(kinds []keyKind, supports func(int) bool) int {
	first := c.first()
	byExact := len(c.exact) > 0 && c.exact[0] == first
	byWildcard := len(c.wildcard) > 0 && c.wildcard[0] == first
	best := func(exact, wildcard bool, ok func(keyKind) bool) int {
		found := -1
		try := func(list []int) {
			for _, i := range list {
				if (found < 0 || i < found) && ok(kinds[i]) && supports(i) {
					found = i
				}
			}
		}
		if exact {
			try(c.exact)
		}
		if wildcard {
			try(c.wildcard)
		}
		return found
	}
	if i := best(byExact, byWildcard, keyKind.ecdsa); i >= 0 {
		return i
	}
	if i := best(byExact, byWildcard, keyKind.any); i >= 0 {
		return i
	}
	if i := best(true, true, keyKind.any); i >= 0 {
		return i
	}
	return first
}
