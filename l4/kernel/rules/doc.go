// Package rules compiles l4xnat farms, and what is known of their backends, into
// rules of the packet filter: pure, without looking at the system.
//
//	Compile(*Input)    *nft.Ruleset for the tables inet sluice and netdev sluice
//	Mark(backend)      what a connection is found by
//
// # Tables
//
// Two are ours alone. Most lies in the table inet sluice:
//
//	prerouting, output ───► farmN ───► deliver4|6              (nat: first packet of a connection)
//	   by address, protocol   │
//	   and port: verdict maps └► session? else choice: mark of a backend
//	   ports, ranges, all
//	postrouting: source address by mark                        (nat)
//	sessions: those of connections in use stay                 (filter: every packet)
//	traffic: counters and packet marks by connection mark      (filter: every packet)
//
// The choice is written into the connection's mark, 0x5c000000 | backend ID;
// everything behind it (target, source, mark, counters) is found by that mark in
// one map each. What a packet costs therefore depends on neither the number of
// farms nor that of backends.
//
// Farms with NAT type dsr and stateless_dnat lie in the table netdev sluice:
// their packets are taken where they arrive, before any of this, see Netdev.
//
// A new connection that no backend can take is refused, never left to this
// machine's own programs.
package rules
