// Package kernel carries l4xnat farms by rules of the packet filter, so that
// their packets never reach a process.
//
// # The way through it
//
// rules.Compile turns farms and what is known of their backends into a
// nft.Ruleset: pure, without looking at the system. A Keeper holds what was
// asked for, follows the health board, and has sysnet/nft make the kernel's
// tables equal to what was compiled: by differences in daily life, completely at
// start and whenever there is doubt.
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
package kernel
