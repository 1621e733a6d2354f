package publish

import (
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
)

// needs is what one farm needs from netd. It depends only on the farm.
type needs struct {
	listeners []farm.Listener
	keys      []string     // of listeners
	kinds     []marks.Kind // of the sockets with a mark, which the engine cannot create
}

func needsOf(f *farm.Farm) (n needs) {
	n.kinds = marks.Needed(f)
	if f.Stopped {
		return n
	}
	n.listeners = f.Listeners()
	n.keys = make([]string, len(n.listeners))
	for i, l := range n.listeners {
		n.keys[i] = l.Key()
	}
	return n
}

// keysOf returns the keys of each farm.
func keysOf(all []needs) [][]string {
	lists := make([][]string, len(all))
	for i := range all {
		lists[i] = all[i].keys
	}
	return lists
}

// kindsOf returns the kinds of sockets that farms need.
func kindsOf(all []needs) (kinds []marks.Kind) {
	for i := range all {
		kinds = append(kinds, all[i].kinds...)
	}
	return kinds
}

// keySet is an immutable set of listener keys. Equal versions mean equal sets; a set with
// version 0 equals none.
type keySet struct {
	has     map[string]bool
	version uint64
}

// covers reports whether all keys of other are in the set.
func (k keySet) covers(other keySet) bool {
	for key := range other.has {
		if !k.has[key] {
			return false
		}
	}
	return true
}

// keySets builds the sets of successive key lists. A list with the same keys as the previous
// one gets the same set.
type keySets struct {
	last [][]string
	set  keySet
}

// of returns the immutable set of all keys of the lists.
func (k *keySets) of(lists [][]string) keySet {
	if k.set.version != 0 && slices.EqualFunc(k.last, lists, slices.Equal[[]string]) {
		return k.set
	}
	k.last, k.set = lists, keySet{map[string]bool{}, k.set.version + 1}
	for _, keys := range lists {
		for _, key := range keys {
			k.set.has[key] = true
		}
	}
	return k.set
}

// sockets is the state of listening sockets after a publication that left nothing to open or
// close. While it stays the same, netd is not queried.
type sockets struct {
	needed, held uint64 // versions of the key sets that farms need and that the engine holds
	opened       uint64 // the number of sockets opened so far
}
