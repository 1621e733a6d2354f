// Package eventlog stores the events that are stored nowhere else: health changes of
// backends and farms, maintenance, certificates, restarts. Revisions are stored by
// mgmt/store, calls by mgmt/audit, numbers by mgmt/timeseries; mgmt/timeline joins all of
// them.
//
//	Add ─► waiting events ─► a goroutine while there are any ─► events.log, synced
//
// An event is a line of JSON in a file that is only appended to. When it is full it becomes
// events.log.1 and replaces the previous one: there are never more than two files of a
// fixed size. Nothing of them is held in memory. If the machine crashes, events that were
// not synced yet are lost, a tenth of a second or so; an incomplete line is skipped.
//
// Farms are identified by their stable numbers, so that an event remains with a renamed
// farm. Numbers are reused after all others were used: the event Deleted means that older
// events of a number belong to another farm.
package eventlog
