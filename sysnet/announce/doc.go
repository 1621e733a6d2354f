// Package announce tells the machines of a network that an address is here:
// gratuitous ARP for IPv4, unsolicited neighbour advertisements for IPv6.
// Switches and neighbours that knew the address elsewhere learn it at once
// instead of after their time-out.
//
// An Announcer is told which addresses farms have: all at once (Keep) or one by
// one as they come and go (Add, Drop). One that is new and
// belongs to an Ethernet interface is announced Rounds times, Interval apart,
// in the background; one that is gone is forgotten, for there is nothing in
// the kernel to take back. Frames are built in frame.go, without input from
// the network; nothing is ever received.
package announce
