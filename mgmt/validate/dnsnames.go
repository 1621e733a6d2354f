package validate

import (
	"hash/maphash"
	"math/bits"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// manyRecords is the zone size from which the names of several records are looked for first.
const manyRecords = 1000

// nameSet holds the names that several records of a zone have. It also contains one in 16 of
// the other names, because it is a set of hashes. The state of a name takes 300 bytes, and
// most names have a single record. The nil set holds all names.
type nameSet struct {
	seed  maphash.Seed
	again []uint64 // a bit for each hash, a power of two of them
}

// repeatedNames returns the names that several records of a zone have, in lower case.
func repeatedNames(z *farm.Zone) *nameSet {
	n := z.Len()
	if n < manyRecords {
		return nil
	}
	words := 1 << bits.Len(uint(n/4)) // 16 to 32 bits for each record
	s, seen := &nameSet{maphash.MakeSeed(), make([]uint64, words)}, make([]uint64, words)
	for _, r := range z.All() {
		word, bit := s.at(strings.ToLower(r.Name))
		s.again[word] |= seen[word] & bit
		seen[word] |= bit
	}
	return s
}

func (s *nameSet) at(name string) (word int, bit uint64) {
	h := maphash.String(s.seed, name)
	return int(h >> 6 & uint64(len(s.again)-1)), 1 << (h & 63)
}

// has reports whether several records may have the name.
func (s *nameSet) has(name string) bool {
	if s == nil {
		return true
	}
	word, bit := s.at(name)
	return s.again[word]&bit != 0
}
