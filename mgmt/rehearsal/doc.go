// Package rehearsal simulates the load of a backend group after some of its backends are
// removed. Requests arrive at random at the current rate. The engine's own pickers
// (core/balance) choose the backends, by the algorithm, weights, priorities, limits and
// health of the group, so that no selection rule is implemented twice.
//
// A request takes the backend's latency at low load. The result is therefore the load of
// each backend without queueing. The caller, who knows the capacities, decides whether it
// fits. Relayed connections count as requests of one second, so that the number in flight
// equals their rate.
//
// Clients with affinity, by a session or a hash, stay on their backend while it is
// usable.
package rehearsal
