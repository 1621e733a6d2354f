// Package conntrack looks into the kernel's table of tracked connections and
// deletes from it, by the marks of the appliance.
//
// # Marks
//
// The upper eight bits of a connection mark, Mask, are ours: Mark there says
// that a farm of the kernel data path carries the connection, and the lower 24
// hold the number of the backend (BackendMark). Flush refuses everything that
// could hit an entry without that.
//
// # The way through it
//
// Count walks the table and keeps numbers only; List keeps at most as many
// entries as it was asked for, so that a table of a million costs time and no
// memory. Both ask the kernel to filter by mark and family. Flush deletes in
// one request. Usage tells how full the table is and what was lost because of
// it.
//
// Dumps are read with sockets of our own, message by message, because the
// libraries at hand gather a whole table first; entries are decoded, deletions
// and statistics asked for with ti-mo/conntrack. All functions may be called by
// any goroutine, act in the network namespace of the calling thread, and need
// CAP_NET_ADMIN.
package conntrack
