// Package eventlog keeps what happened and nobody else keeps: backends and farms whose
// health changed, maintenance, certificates, restarts. Revisions are kept by mgmt/store,
// calls by mgmt/audit, numbers by mgmt/timeseries; mgmt/timeline joins all.
//
//	Add ─► what waits ─► a goroutine while something does ─► events.log, synced
//
// An event is a line of JSON in a file that is only appended to. When it is full it
// becomes events.log.1, in the place of the one before it: two files of a fixed size are
// all there ever is. Nothing of them is held in memory. A machine that dies loses what
// was not synced yet, a tenth of a second or so; a line that was cut off is left out.
//
// Farms go by their stable numbers, so that an event stays with its farm when that is
// renamed. Numbers come back after all others were used: the event Deleted says that
// older events of a number are those of another farm.
package eventlog
