// Package boltfile reads a bbolt file without trusting its content. bbolt checks only its two
// heads. Other damage makes it panic, read past the end of its mapping, allocate according to a
// damaged count, or overwrite pages in use. This package reports whether a file is sound, and
// reads the remaining data of a damaged one.
//
//	Sound   whether bbolt may open the file, and why not
//	Read    the buckets of one transaction, and which of them are damaged
//	Roots   pages that look like the root of a transaction, if the heads are lost
//	Leaves  every key and value on any page, in use or not
//
// All bounds are checked against the given bytes; nothing is copied.
package boltfile
