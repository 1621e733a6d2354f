package session

// keptMost bounds the sessions of one service: a million, and the room it takes
// for all of its shards to hold their part of them.
const keptMost = 5 << 18

// Kept is the sessions of one service, from one configuration to the next.
type Kept struct {
	*Table
	// static holds the static sessions that were put into the table, with the
	// stable numbers of their backends.
	static map[string]uint32
}

// NewKept is NewIn with room for all sessions of a service.
func NewKept(m *Memory, owner uint64) *Kept { return &Kept{Table: NewIn(m, owner, keptMost)} }

// Fix makes the static sessions those of the backends. It is for one goroutine
// at a time.
func (k *Kept) Fix(backends []Member) {
	now, want := Now(), map[string]uint32{}
	for _, b := range backends {
		for _, key := range b.Static {
			want[key] = b.ID
		}
	}
	for key := range k.static {
		if _, stays := want[key]; !stays {
			k.Delete([]byte(key))
		}
	}
	for key, id := range want {
		if k.static[key] != id {
			k.PutStatic([]byte(key), id, now)
		}
	}
	k.static = want
}
