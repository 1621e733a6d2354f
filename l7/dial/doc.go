// Package dial manages the connections to backends. It opens them, reuses idle ones, and
// closes those that end while idle.
//
// A Pool belongs to one loop and needs no locks. A connection carries one exchange at a time
// and belongs to the Owner of that exchange. Between exchanges it is in the Pool, for every
// client, or in a Kept, for one client.
package dial
