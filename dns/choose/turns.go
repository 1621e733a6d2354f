package choose

// turns counts the questions for each name and address family. Backends take turns by name
// and family: resolvers ask for names in fixed patterns, e.g. A and then AAAA, so a common
// counter would always give the same backend first. Names whose hashes are equal share a
// counter.
type turns [1024]uint32

// next returns the turn of a question: consecutive numbers for each name and family, which
// begin elsewhere for each name.
//
// Hot path: 0 allocations.
func (t *turns) next(service uint32, name []byte, v6 bool) uint32 {
	const step = 16777619 // of FNV
	h := uint32(0)
	for _, b := range name {
		h = (h ^ uint32(b)) * step
	}
	h ^= h >> 16
	at := 2 * (h + service*step)
	if v6 {
		at++ // never the counter of the other family
	}
	n := &t[at%uint32(len(t))]
	*n++
	return *n + h
}
