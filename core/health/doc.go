// Package health is the health table: what is known of the health of every
// backend, in shared memory, read without a lock.
//
// A table has one slot per backend ID. Two parties write findings into it, each
// into words of its own: the loops of an engine what they see in passing
// (SetPassive: connects that fail or succeed), mgmt what its guardian probes
// (SetGuardian). A backend is usable unless one of them calls it down, so a
// backend nobody looked at yet carries traffic. Maintenance is configuration
// and not in the table.
//
// Besides these findings a backend may be ejected: it can be connected to, but an
// engine found that its answers fail one after the other (Slot.Failed, Eject).
// No finding ends that, only the engine does (Readmit).
//
// Beside its finding mgmt notes how soon probes are answered (Slot.Latency), and how
// much a backend has to do where it is told (Table.Load). That makes no backend more or
// less usable, and is no new version.
//
// A reader asks Slot.Usable on its hot path. One that derives tables from many
// slots keeps Table.Version with them and rebuilds when it differs: the
// version is read before the slots, and writers count after they wrote, so no
// change is missed.
//
// Everything here is atomic and may be called from any goroutine of any
// process that maps the table. The memory must stay mapped as long as a Table
// or a Slot is in use.
package health
