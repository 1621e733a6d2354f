// Package audit records the calls that wrote something or were refused, with their user and
// result: one line of JSON for each call, in files that are only appended to.
//
// A Log starts a new file when the current one is full, and keeps a number of older ones;
// the oldest is removed. Lines are numbered from 1 without a gap, across all files and
// restarts, so that a missing one can be detected. Calls of unknown clients, and refused
// calls of a user, can be arbitrarily many. They are written at a limited rate, so that
// they cannot displace others.
//
// Bodies are not recorded, since they may contain secrets. The revision of a change has its
// details.
package audit
