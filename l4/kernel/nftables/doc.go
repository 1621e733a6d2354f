// Package nftables carries farms by nft(8): it keeps the kernel's tables equal to
// what l4/kernel/rules compiles.
//
// A Filter changes what differs from the rules it knows to be there, in one
// transaction (sysnet/nft). At start it leaves alone what bears the seal of the
// rules wanted and is all there. Otherwise, and after a doubt, it makes everything
// anew around the sessions and flows that packets have learned
// and with the counters as they were. Counters of farms that are stopped are kept
// here, because their rules go. Intact finds out that somebody else removed some.
package nftables
