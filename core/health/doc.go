// Package health is the health table: the known health of every backend, in shared memory,
// read without a lock.
//
// A table has one slot per backend ID. Two parties write findings into it, each into its own
// words. Engine loops write what they notice in passing (SetPassive: connects that fail or
// succeed). mgmt writes the results of its probes (SetGuardian). A backend is usable unless
// one of them reports it down, so a backend without findings gets traffic. Maintenance is
// configuration and not in the table.
//
// A backend may also be ejected: connects succeed, but an engine saw its responses fail
// repeatedly (Slot.Failed, Eject). No finding ends an ejection, only the engine does
// (Readmit).
//
// mgmt also stores the latency of probes (Slot.Latency), and the load of a backend if it is
// reported (Table.Load). They do not affect usability or the version.
//
// A reader checks Slot.Usable on its hot path. A reader that derives tables from many slots
// stores Table.Version with them and rebuilds when it differs. The version is read before
// the slots, and writers increment it last, so no change is missed.
//
// All operations are atomic and safe for any goroutine of any process that maps the table.
// The memory must stay mapped while a Table or Slot is in use.
package health
