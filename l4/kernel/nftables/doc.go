// Package nftables carries farms by nft(8): it keeps the kernel's tables equal to the output
// of l4/kernel/rules.
//
// A Filter compiles the farms that changed and applies the difference to the known rules in
// one transaction (sysnet/nft). At start it keeps existing rules if they are complete and carry the seal of the wanted rules.
// Otherwise, and after Doubt, it rebuilds everything except sessions and flows learned from
// packets, and restores the counters. Counters of stopped farms are kept here, because their
// rules are deleted. Intact finds out whether someone else removed rules.
package nftables
