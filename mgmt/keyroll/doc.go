// Package keyroll replaces the keys of signed zones at intervals (RFC 6781 §4.1.2, a single
// type of key), if a zone gives its keys a lifetime.
//
//	the key is old ─► the next one is made, and a notice asks for its DS record in the
//	parent zone ─► all servers of the parent have it, for as long as the previous
//	records may be cached ─► it signs, the old one retires ─► none of its signatures
//	is cached any longer: it is removed
//
// Each step is a revision, so that a restart continues at the same point. A step is taken
// only after it has been verified to be safe; an operator may activate the next key at any
// time (sluice zone key use). Zones whose keys have no lifetime remain unchanged.
package keyroll
