// Package kernel carries l4xnat farms by rules of the packet filter, so that
// their packets never reach a process.
//
// # The way through it
//
// A Reconciler holds what was asked for and follows the health table, the number of
// connections and where backends are on the wire. Of these it makes a rules.Input,
// which a Filter has the kernel carry:
//
//	rules        farms ──► rules, pure
//	nftables     the Filter for kernels with nf_tables; iptables that for others
//	carry        what both share: who cannot be carried is left out
//	icmprelay    ICMP errors about packets connection tracking does not know
//
// The Reconciler knows neither of the filters nor the relay, only the interfaces in
// this package. One goroutine changes rules at a time, under the Reconciler's lock;
// who asks what is carried does not wait for it.
package kernel
