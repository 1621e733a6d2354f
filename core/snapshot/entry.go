package snapshot

import (
	"crypto/sha256"

	"github.com/sluicelb/sluice/core/farm"
)

// digest is what farms, and all else of a snapshot, are recognised by.
type digest [sha256.Size]byte

// entry is a farm of a snapshot as writer and reader remember it: one that stays is the
// same entry.
type entry struct {
	farm     farm.Farm
	digest   digest   // of its encoding
	encoded  []byte   // its encoding; nil in a reader
	size     int      // of its encoding, in bytes
	elements uint64   // of all lists in it; a reader bounds them
	numbers  *numbers // nil before it was checked
}

// sumOf is the digest of a configuration: of its farms in their order, and of all else.
func sumOf(rest digest, farms []*entry) (sum digest) {
	h := sha256.New()
	h.Write(rest[:])
	for _, e := range farms {
		h.Write(e.digest[:])
	}
	h.Sum(sum[:0])
	return sum
}

// between returns the entries that went from before to now, and those that came. An entry
// that is there more often than before came as well.
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
