package farm

// Memo caches a value that depends only on a farm, for each farm of a configuration. The
// next configuration costs one comparison per farm and one computation per changed farm.
// Farms are compared by Align, so their settings must not be modified. The zero value is
// empty. A Memo must not be used concurrently.
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
	clear(m.farms[len(farms):cap(m.farms)]) // releases the settings of removed farms
	m.values = append(m.values[:0], values...)
	clear(m.values[len(values):cap(m.values)])
	return values
}
