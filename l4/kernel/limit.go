package kernel

import (
	"github.com/sluicelb/sluice/core/farm"
)

// # Bounds of connections
//
// The kernel counts (ct count) by keeping the tuples of connections it was asked
// about, and drops those that are closed or gone when it is asked again. Asking
// is counting: a connection that is asked about for one backend and goes to
// another is counted for the first as long as it lives. So backends that are full
// are noted (@full) by the last connection they may have, and passed over without
// asking. The note may be older than the connections it is about. Before a client
// is refused because of it the kernel is asked, backend by backend (fullN): who is
// refused is dropped, and counts nowhere.
//
//	farmN:  choose, pass over @full ──► admit: over? note, else deliver
//	fullN:  all are noted: ask ──► room: forget the note, deliver; none: refuse
//
// What remains: of several backends that are noted the first is asked for a
// client the second has room for, which counts for both. That takes a note which
// is wrong; they are set right every second (Fill).

// bounds lists the bounded backends of farms that run.
func bounds(farms []farm.Farm) map[uint32]uint32 {
	out := map[uint32]uint32{}
	for i := range farms {
		for j := range farms[i].L4.Backends {
			if b := &farms[i].L4.Backends[j]; !farms[i].Stopped && b.ConnLimit > 0 {
				out[b.ID] = b.ConnLimit
			}
		}
	}
	return out
}
