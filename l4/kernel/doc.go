// Package kernel carries l4xnat farms by packet filter rules, so that their packets never
// reach a process.
//
// # Data flow
//
// A Reconciler holds the requested farms and follows the health table, the number of
// connections and the link-layer addresses of backends. It builds a rules.Input from these,
// which a Filter loads into the kernel:
//
//	rules        farms ──► rules, pure
//	nftables     Filter for kernels with nf_tables; iptables for others
//	carry        shared by both: leaves out farms that cannot be carried
//	icmprelay    ICMP errors about packets unknown to connection tracking
//
// The Reconciler knows neither the filters nor the relay, only the interfaces in this
// package. One goroutine changes rules at a time, under the Reconciler's lock. Queries do
// not wait for it.
package kernel
