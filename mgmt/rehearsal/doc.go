// Package rehearsal plays what becomes of the load of a group when some of its backends
// are taken out: requests come by chance at the rate they come now, and the engine's own
// pickers (core/balance) choose who takes each, by the algorithm, weights, priorities,
// limits and health of the group. No rule of choosing is written twice.
//
// A request lasts as long as its backend takes with little load, so what comes out is
// what each has to do, and not what waits where that is too much: whether it fits is
// for the caller to say, who knows what each can do. Connections that are relayed count
// as requests of one second, which leaves as many at once as there are.
//
// Clients that keep to their backend, by a session or a hash, stay while it is usable.
package rehearsal
