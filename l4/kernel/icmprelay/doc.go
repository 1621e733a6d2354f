// Package icmprelay forwards ICMP errors about packets of farms with NAT type dsr and
// stateless_dnat.
//
// Connection tracking does not know these packets, so the kernel cannot find the recipient
// of an error about one. The error arrives at the VIP, which belongs to this machine, or
// goes to a client that knows no such backend. The relay finds the flow in the maps of the
// packet filter and sends the error to the backend or the client, with the addresses that
// one knows. Path MTU discovery and rejections by backends depend on it.
//
//	sysnet/icmp ──► Run ──► index: farm by address and port, backend by mark
//	                          └──► sysnet/nft: the flow ──► sysnet/icmp: sent on
//
// Anyone may send errors, so their rate is limited, the cost of one does not grow with the
// number of farms, and none waits for a change. Follow builds a new index and swaps it in.
// Run only reads, on its own goroutine.
package icmprelay
