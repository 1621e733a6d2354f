// Package kernelfarms measures kernel farms against a hand-written rule of nft(8) with
// the same two backends, and one farm among many against one alone. It contains only
// tests. They need root and namespaces and run if SLUICE_BENCH is set, e.g. by `make
// bench`.
//
// The figure is the CPU time of one thread. It includes the whole path through the
// appliance, because a veth forwards packets synchronously. The thread opens connections,
// sends datagrams, or is both ends of a connection. Connections are not accepted, because
// a process that wakes on the other CPU would affect the result more than rules do.
//
// Our rules and the hand-written rule are in one network and alternate in turns of 20 ms,
// while the other tables are dormant. The figure is the median of the ratios of turns. A
// second copy of the rule shows the noise: 0.2 % for connections, compared with 2 % by
// wall clock and a server that accepts. A variant of the rule with counters per backend
// shows the cost of that feature.
package kernelfarms
