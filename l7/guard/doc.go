// Package guard decides which clients a service lets in: users with passwords (RFC
// 7617) and bearers of keys.
//
// # Passwords on a loop
//
// Passwords are kept as bcrypt hashes, which take a tenth of a second to check
// by intent; a loop has microseconds. So a loop asks its Cache, which knows by a
// digest which credentials were right lately: one SHA-256, no allocation. What
// it does not know is checked in the background by the Checker, whose queue is
// bounded: guessing is slow for all guessers together, and never slows traffic.
//
//	Cache.Look      on the loop: known, malformed, or to be checked
//	Checker.Check  a place in the queue, if there is one
//	Job.Done       in the background: the answer; the owner tells its caches
//
// The digest covers the hash the credentials were compared with and a secret
// that is made when the process starts: with another password in the
// configuration nothing that was known counts any more, and what lies in memory
// helps nobody to guess.
//
// Users that do not exist are compared with a hash that fits nothing and takes
// as long as that of some user.
//
// # Keys
//
// Keys are long and random, so a plain SHA-256 keeps them. All of them are
// compared, in constant time.
package guard
