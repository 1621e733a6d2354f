// Package iptables changes chains of our own in the tables of iptables, for
// kernels without nf_tables. Of all other chains only the jumps into ours are
// touched; these carry the comment "sluice".
//
// A Script is what should be there in one family. Apply makes it so: each table
// in one transaction of iptables-restore, the tables one after the other, so
// that a script says in which order. Chains of ours that are in no script are
// removed.
package iptables
