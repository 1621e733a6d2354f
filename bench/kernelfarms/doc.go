// Package kernelfarms measures farms the kernel carries: against a hand-written
// rule of nft(8) with the same two backends, and with many farms present
// against one. It has tests only, which take root and namespaces and run when
// SLUICE_BENCH is set, as `make bench` does.
//
// What is measured is CPU time of one thread, in which the whole way through the
// appliance falls because a veth hands packets on at once: it opens connections,
// which nobody accepts because a process that wakes on the other CPU would decide
// more than rules do, sends datagrams, or is both ends of a connection.
//
// Ours and the rule by hand lie in one network and take turns of 20 ms: the
// tables of the others sleep. The median of the ratios of turns counts. The same
// rule once more tells how much is chance: 0.2 % of connections, where it was
// 2 % by the clock on the wall with a server that accepts. The rule with others
// beside that count what each backend gets and sends tells what an administrator
// pays who wants to know that.
package kernelfarms
