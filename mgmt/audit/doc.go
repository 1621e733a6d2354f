// Package audit keeps who wrote something, or was refused, and what came of it: one
// line of JSON for each call, in files that are only ever appended to.
//
// A Log begins another file when the one it writes is full, and keeps a number of
// older ones; what is oldest goes. Lines are numbered from 1 on, without a gap, over
// all files and over restarts, so that a missing one is seen. Calls of strangers, and
// refused ones of a user, who may send as many as they like, are written at a bounded
// rate: they cannot push others out.
//
// Nothing of a body is kept: it may hold secrets. What a change of the configuration
// was, its revision says.
package audit
