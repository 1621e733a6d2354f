// Package claim separates instances of Sluice that share a network namespace.
//
// The names of all objects that an instance creates in the kernel (nft tables, iptables
// chains, connection marks, routing rules) contain its Slot. The instance holds a claim to
// the slot while it runs. A claim is an abstract unix socket: it belongs to the network
// namespace, independently of the file system, and ends with its process.
//
// Rules outlive the instance. An instance therefore takes its previous slot if that is
// free. A new instance avoids slots that have rules (Take).
package claim
