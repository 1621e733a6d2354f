// Package icmprelay forwards ICMP errors about packets of farms with NAT type dsr and
// stateless_dnat.
//
// These packets bypass connection tracking, so the kernel cannot find the recipient of an
// error about one. The error arrives at the VIP, which belongs to this machine, or at a
// client, which knows only the VIP. The relay finds the flow in the maps of the packet
// filter and sends the error to the backend or the client, with the addresses that one
// knows. Path MTU discovery and rejections by backends depend on it.
//
//	sysnet/icmp ──► Run ──► index: farm by address and port, backend by mark
//	                          └──► sysnet/nft: the flow ──► sysnet/icmp: sent on
//
// Anyone may send errors. Therefore their rate is limited, their cost is independent of
// the number of farms, and changes of farms do not delay them. Follow builds a new index
// and swaps it in. Run only reads, on its own goroutine.
package icmprelay
