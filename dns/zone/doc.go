// Package zone compiles the zones of a farm into one table of names and answers questions
// from it (RFC 1034 §4.3.2, RFC 4592).
//
// A table has two pieces of memory: an index by name hash, and the nodes of all names in
// one byte slice. A million records take about a hundred bytes each and hold no pointers
// that the garbage collector would follow.
//
// Update returns a table that follows another one. It appends the changed names to the
// memory of names and copies the index pages that lead to them. The previous table does
// not change. Update compares packed runs of records and knows the name hashes of each
// run, so its cost depends on the size of the edit. Update returns nil, and Compile is
// needed, if an edit affects names that it does not list. Examples are records of an apex,
// settings of a zone, or names below a delegation or DNAME record that is added or
// removed.
package zone
