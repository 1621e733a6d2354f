package snapshot

import (
	"crypto/sha256"

	"github.com/sluicelb/sluice/core/farm"
)

// digest identifies a farm, or the rest of a snapshot.
type digest [sha256.Size]byte

// entry is a farm of a snapshot. Successive snapshots share the entries of unchanged
// farms.
type entry struct {
	farm     farm.Farm
	digest   digest            // of its encoding, or of its head if it has runs
	encoded  []byte            // the bytes that digest covers; nil in a reader
	runs     [][]run           // of the records by zone; nil if no zone is packed
	fresh    map[digest][]byte // the runs that the previous entry lacks, until they are published
	size     int               // of the encoding in bytes
	elements uint64            // of all lists, bounded by a reader
	records  uint64            // in runs, bounded by a reader
	numbers  *numbers          // nil until the farm is checked
}

// sumOf returns the digest of a configuration from the digests of its farms, in order, and
// of the rest.
func sumOf(rest digest, farms []*entry) (sum digest) {
	h := sha256.New()
	h.Write(rest[:])
	for _, e := range farms {
		h.Write(e.digest[:])
	}
	h.Sum(sum[:0])
	return sum
}

// between returns the entries that now lacks and the entries that are new. If an entry
// occurs more often than before, the extra occurrences are new.
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
