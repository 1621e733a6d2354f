// Package conntrack reads the kernel's table of tracked connections and deletes entries
// from it, selected by the marks of the appliance.
//
// # Marks
//
// The upper eight bits of a connection mark (Mask) identify connections of kernel farms.
// The lower 24 bits contain the number of the backend (BackendMark). Flush refuses filters
// that could match other entries.
//
// # Functions
//
// Count walks the table and keeps only numbers. List keeps at most the requested number of
// entries, so a table of a million entries costs time but no memory. In both cases the
// kernel filters by mark and family. Flush deletes in one request. Usage returns the fill
// level of the table and the losses caused by it.
//
// Dumps use sockets of this package and are read message by message, because the available
// libraries collect a whole table first. Decoding, deletion and statistics use
// ti-mo/conntrack. All functions are safe for concurrent use, act in the network namespace
// of the calling thread, and need CAP_NET_ADMIN.
package conntrack
