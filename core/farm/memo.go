package farm

// Memo remembers a value that follows from a farm alone, for each farm of a configuration.
// The next configuration costs a comparison of each farm, and a computation for those that
// changed. A farm is recognised as by Align: nobody may change its settings any more. The
// zero value remembers nothing. A Memo must not be used concurrently.
type Memo[T any] struct {
	farms  []Farm
	values []T
}

// Of returns the value of each farm. The result belongs to the caller.
func (m *Memo[T]) Of(farms []Farm, value func(*Farm) T) []T {
	values := make([]T, len(farms))
	for i, at := range Align(m.farms, farms) {
		if at >= 0 {
			values[i] = m.values[at]
		} else {
			values[i] = value(&farms[i])
		}
	}
	m.farms = append(m.farms[:0], farms...) // a copy: callers may change fields of the list's farms
	clear(m.farms[len(farms):cap(m.farms)]) // settings of farms that are gone
	m.values = append(m.values[:0], values...)
	clear(m.values[len(values):cap(m.values)])
	return values
}
