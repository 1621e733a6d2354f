// Package rules compiles l4xnat farms, and what is known of their backends, into
// rules of the packet filter: pure, without looking at the system.
//
//	Compile(*Input)    *nft.Ruleset for the tables inet sluice and netdev sluice
//	Mark(backend)      what a connection is found by
//
// What the tables hold and how packets go through them is in l4/kernel.
package rules
