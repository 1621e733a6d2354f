// Package icmprelay passes on ICMP errors about packets of farms with nattype dsr
// and stateless_dnat.
//
// Connection tracking knows nothing of these packets, so the kernel cannot tell
// whom an error about one concerns: it comes to the VIP, which is this
// machine's, or goes to a client that knows no such backend. The relay finds the
// flow the error is about in the maps of the packet filter and sends it on to the
// backend or the client, with the addresses that one knows. Path MTU discovery,
// and the rejections of backends, hang on it.
//
//	sysnet/icmp ──► Run ──► index: farm by address and port, backend by mark
//	                          └──► sysnet/nft: the flow ──► sysnet/icmp: sent on
//
// Anybody may send errors. So a second has a bound, what one costs does not grow
// with the number of farms, and none waits for a change. Follow makes a new
// index and swaps it in; Run, on a goroutine of its own, only reads.
package icmprelay
