// Package guard decides which clients a service accepts: users with passwords (RFC 7617) and
// holders of keys.
//
// # Passwords on a loop
//
// Passwords are stored as bcrypt hashes, which take a tenth of a second to check by design,
// while a loop has microseconds. Each loop therefore has a Cache of recently verified
// and recently refused credentials, by digest: one SHA-256, no allocation. Unknown credentials are verified in
// the background by the Checker. Clients take turns in its queue, so guessing is slow for
// guessers and never slows traffic.
//
//	Cache.Look     on the loop: right, wrong, malformed, or to be checked
//	Checker.Check  queues a check
//	Job.Done       in the background: the result, which the owner passes to its caches
//
// The digest covers the hash of the password and a secret generated at process start. Cached
// results thus become invalid when a password changes, and the memory contents do not help
// to guess passwords.
//
// Unknown users are compared with a decoy hash that has the cost of a real user's.
//
// # Keys
//
// Keys are long and random, so they are stored as plain SHA-256. All of them are compared,
// in constant time.
package guard
