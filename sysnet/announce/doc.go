// Package announce announces addresses to the local network: gratuitous ARP for IPv4,
// unsolicited neighbour advertisements for IPv6. Switches and neighbours with a stale
// entry update it at once instead of after a time-out.
//
// An Announcer receives the addresses of farms, either all at once (Keep) or individually
// (Add, Drop). A new address on an Ethernet interface is announced Rounds times in the
// background, Interval apart. A removed address is only forgotten; the kernel holds no
// state for it. Frames are built in frame.go, independently of network input. Nothing is
// received.
package announce
