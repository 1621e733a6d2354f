// Package boltfile reads a bbolt file without trusting a byte of it. bbolt checks only its
// two heads: any other damage makes it panic, read past the end of its mapping, allocate
// what a damaged count asks for, or overwrite pages that are in use. This package tells
// whether a file is sound, and reads from a damaged one whatever is still there.
//
//	Sound   whether bbolt can be let at the file, and why not
//	Read    the buckets of one transaction, with what of them cannot be read
//	Roots   pages that look like the root of a transaction, when the heads are lost
//	Leaves  every key and value on any page, in use or not
//
// All bounds are checked against the bytes that were given; nothing is copied.
package boltfile
