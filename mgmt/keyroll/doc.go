// Package keyroll replaces the keys of signed zones by the clock (RFC 6781 §4.1.2, a single
// type of key), where a zone gives its keys a lifetime.
//
//	the key is old ─► the next one is made, and somebody is told to bring its DS record to
//	the parent zone ─► all servers of the parent have it, for as long as the records of
//	before may be kept ─► it signs, the old one retires ─► nothing it signed is kept
//	anywhere: it goes
//
// Each step is a revision, so that a restart goes on where it was. Nothing is done that is
// not seen to be safe; an operator may have the next key sign at any time (sluice zone key
// use). Zones whose keys have no lifetime are left alone.
package keyroll
