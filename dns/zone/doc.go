// Package zone answers from zones: it compiles the zones of a farm into one table of
// names, and finds in it what is known of a name (RFC 1034 §4.3.2, RFC 4592).
//
// A table is two pieces of memory without pointers: an index by the hash of names,
// and what belongs to each name, one behind the other. A million records are a
// hundred bytes each or so, and nothing the garbage collector looks at.
package zone
