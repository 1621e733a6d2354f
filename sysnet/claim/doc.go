// Package claim keeps instances of Sluice apart that share a network namespace.
//
// What they set in the kernel (tables of nft, chains of iptables, marks of
// connections, rules of routing) is named after a Slot, and an instance holds the
// claim to its slot while it runs. A claim is an abstract unix socket: these
// belong to the network namespace, whatever files a process sees, and they end
// with the process that holds them.
//
// Rules outlive the instance. So it takes the slot it had before if that is free,
// and a new one takes none of which there are rules (Take).
package claim
