// Package rules compiles l4xnat farms and the state of their backends into packet filter
// rules. It is pure and does not look at the system.
//
//	Compile(*Input)    *nft.Ruleset for the tables inet sluice and netdev sluice
//	Mark(backend)      the connection mark of a backend
//
// # Tables
//
// Two tables are used. Most rules are in the table inet sluice:
//
//	prerouting, output ───► farmN ───► deliver4|6              (nat: first packet of a connection)
//	   by address, protocol   │
//	   and port: verdict maps └► session? else choice: mark of a backend
//	   ports, ranges, all
//	postrouting: source address by mark                        (nat)
//	sessions: renew those of connections in use                (filter: every packet)
//	traffic: counters and packet marks by connection mark      (filter: every packet)
//
// The choice is stored in the connection mark, 0x5c000000 | backend ID. Target, source,
// packet mark and counters are each found by that mark in one map. So the cost per packet
// depends neither on the number of farms nor on that of backends.
//
// Farms with NAT type dsr and stateless_dnat are in the table netdev sluice: their packets
// are taken on arrival, before the chains above, see Netdev.
//
// If no backend can take a new connection, it is refused. Programs of this machine never
// receive it.
package rules
