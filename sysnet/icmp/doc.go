// Package icmp receives ICMP errors about undeliverable packets and sends them on with
// the addresses known to the receiver: path MTU, unreachable, time exceeded, parameter
// problem.
//
// A Listener uses packet sockets, so firewalls do not filter it and other packets cost
// one comparison in the kernel. Parse and Message.Rewrite are pure. Parse rejects packets
// with invalid checksums or fields (RFC 5508 §4.2).
//
// The package has no knowledge of farms: l4/kernel determines the receiver.
package icmp
