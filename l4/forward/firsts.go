package forward

const (
	firstsKept = 256
	// firstMost is the longest first datagram that is kept.
	firstMost = 2 << 10
)

// firsts keeps the first datagrams of the flows that began last, for when their
// backend turns out not to be there. Later ones overwrite them.
type firsts struct {
	flows [firstsKept]*flow
	data  [firstsKept][]byte
	next  int
}

// keep remembers the first datagram of a flow.
func (k *firsts) keep(f *flow, data []byte) {
	if len(data) > firstMost {
		return
	}
	i := k.next
	k.next = (k.next + 1) % firstsKept
	if old := k.flows[i]; old != nil {
		old.first = 0
	}
	k.flows[i], f.first = f, int32(i+1)
	k.data[i] = append(k.data[i][:0], data...)
}

// of is the first datagram of a flow, which may be empty, if it is kept.
func (k *firsts) of(f *flow) (data []byte, kept bool) {
	if f.first == 0 {
		return nil, false
	}
	return k.data[f.first-1], true
}

// drop forgets that of a flow which ends.
func (k *firsts) drop(f *flow) {
	if f.first != 0 {
		k.flows[f.first-1] = nil
	}
}
