// Package zone answers from zones: it compiles the zones of a farm into one table of
// names, and finds in it what is known of a name (RFC 1034 §4.3.2, RFC 4592).
//
// A table is two pieces of memory without pointers: an index by the hash of names,
// and what belongs to each name, one behind the other. A million records are a
// hundred bytes each or so, and nothing the garbage collector looks at.
//
// Update makes a table that follows another one: the names that changed are appended to
// the memory of names, and the pages of the index that lead to them are copied. The table
// before stays as it is. Records are compared by the runs that they are packed in, and the
// names of each record of a run are known by their hashes, so that the work grows with the
// edit. Compile makes the table again where an edit reaches names that it does not name:
// records of an apex, names below a delegation or a DNAME record that comes or goes, the
// settings of zones.
package zone
