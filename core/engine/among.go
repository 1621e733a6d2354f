package engine

// Among says whether a backend is one of those that are named by their stable numbers;
// of nil all are.
func Among(backends []uint32) func(id uint32) bool {
	if backends == nil {
		return func(uint32) bool { return true }
	}
	named := make(map[uint32]bool, len(backends))
	for _, id := range backends {
		named[id] = true
	}
	return func(id uint32) bool { return named[id] }
}
