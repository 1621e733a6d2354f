package field

// Cost is the effect of a field change on traffic.
type Cost string

// Costs. Traffic in progress continues to its end, except with the last one.
const (
	// CostNone takes effect from the next request, packet or datagram.
	CostNone Cost = "none"
	// CostConnections takes effect for new connections.
	CostConnections Cost = "connections"
	// CostRestart moves the farm to another address or data path: clients must reconnect.
	CostRestart Cost = "restart"
)

// Costs returns the changed fields that have a cost.
func (t *Table[T]) Costs(old, next *T) map[string]Cost {
	out := map[string]Cost{}
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Get != nil && f.Cost != CostNone && f.Cost != "" && !f.Get(old).Equal(f.Get(next)) {
			out[f.Name] = f.Cost
		}
	}
	return out
}
