package gslbfarm

import (
	"hash/maphash"
	"math/bits"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
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

// ownerKey returns a text that is equal for all spellings of an owner name of a zone: www,
// WWW, www.example.com. and \119ww.
func ownerKey(z *farm.Zone, name string) string {
	if owner, err := rdata.Owner(name, z.Name); err == nil {
		name = owner
	}
	return strings.ToLower(name)
}

// ShortenOwner writes an absolute or escaped owner name relative to the zone, as names in
// zone files are. It leaves a name that is invalid or outside of the zone unchanged.
func ShortenOwner(z *farm.Zone, r *farm.Record) {
	if !strings.HasSuffix(r.Name, ".") && !strings.Contains(r.Name, `\`) {
		return
	}
	if owner, err := rdata.Owner(r.Name, z.Name); err == nil {
		r.Name = owner
	}
}

// repeatedNames returns the names that several records of a zone have, by ownerKey.
func repeatedNames(z *farm.Zone) *nameSet {
	n := z.Len()
	if n < manyRecords {
		return nil
	}
	words := 1 << bits.Len(uint(n/4)) // 16 to 32 bits for each record
	s, seen := &nameSet{maphash.MakeSeed(), make([]uint64, words)}, make([]uint64, words)
	for _, r := range z.All() {
		word, bit := s.at(ownerKey(z, r.Name))
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
