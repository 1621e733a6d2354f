// Package icmp hears what routers and hosts on the way say about packets that
// could not be delivered, and passes it on to whom it concerns under the
// addresses that one knows: path MTU, unreachable, time exceeded, bad parameters.
//
// A Listener is a packet socket, so that no firewall is before it and packets of
// anything else cost one comparison in the kernel. Parse and Message.Rewrite are
// pure; what does not check out is no Message (RFC 5508 §4.2).
//
// It does not know farms: l4/kernel says who is meant.
package icmp
