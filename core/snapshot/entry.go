package snapshot

import (
	"crypto/sha256"

	"github.com/sluicelb/sluice/core/farm"
)

// digest identifies a farm, or the rest of a snapshot.
type digest [sha256.Size]byte

// entry is a farm of a snapshot. Writer and reader keep the same entry while the farm
// stays.
type entry struct {
	farm     farm.Farm
	digest   digest            // of its encoding, or that of its head if it has runs
	encoded  []byte            // what digest is of; nil in a reader
	runs     [][]run           // of the records of each zone; nil if none has any
	fresh    map[digest][]byte // the runs that the entry before does not have, until they are published
	size     int               // of its encoding, in bytes
	elements uint64            // of all lists in it; a reader bounds them
	records  uint64            // in runs; a reader bounds them
	numbers  *numbers          // nil before it was checked
}

// sumOf returns the digest of a configuration: its farms in order, and the rest.
func sumOf(rest digest, farms []*entry) (sum digest) {
	h := sha256.New()
	h.Write(rest[:])
	for _, e := range farms {
		h.Write(e.digest[:])
	}
	h.Sum(sum[:0])
	return sum
}

// between returns the entries that are missing in now, and those that are new. An entry
// that appears more often than before is new as well.
func between(before, now []*entry) (went, came []*entry) {
	for len(before) > 0 && len(now) > 0 && before[0] == now[0] {
		before, now = before[1:], now[1:]
	}
	for len(before) > 0 && len(now) > 0 && before[len(before)-1] == now[len(now)-1] {
		before, now = before[:len(before)-1], now[:len(now)-1]
	}
	count := make(map[*entry]int, len(before))
	for _, e := range before {
		count[e]++
	}
	for _, e := range now {
		if count[e]--; count[e] < 0 {
			came = append(came, e)
		}
	}
	for _, e := range before {
		if count[e] > 0 {
			count[e]--
			went = append(went, e)
		}
	}
	return went, came
}
